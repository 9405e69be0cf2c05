"""How workloads are run, compared, timed and reported. Knows no workload."""
