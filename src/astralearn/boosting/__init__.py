from astralearn.boosting.objective import ASTraObjective, ConfusionObjective
