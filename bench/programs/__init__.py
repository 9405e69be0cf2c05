"""Programs as a user of Taichi writes them; `ti` is Metate, Taichi or Quadrants, as bench/harness/worker.py says."""
