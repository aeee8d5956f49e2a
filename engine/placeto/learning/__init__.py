"""How a network learns: batches of episodes, their evaluation, returns, and the REINFORCE update."""
