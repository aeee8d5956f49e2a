"""Methods × seeds on one graph and cluster, on one scale: carried out on all cores, summed up, drawn."""
