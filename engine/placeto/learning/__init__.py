"""How a network learns on one graph, a batch at a time, as `graph_training.GraphTraining` leads it.

`decide`: `episodes.make_episode_plan` draws the orders, the starts and a number for each decision; the actor samples
(`networks/`); `evaluation.Evaluator` evaluates the states, and `rewards` makes returns of them. `learn`: the return
baseline makes advantages; `reinforce.Reinforce` scores the decisions again, with gradients, and takes a step of
`optimiser.Optimiser` for each epoch.
"""
