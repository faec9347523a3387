# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py: arrays of NumPy, or of CuPy where there is one and a GPU, are summed over all ranks, in place, and gathered. An
array of CuPy is in GPU memory, which most MPIs do not take; under `tutti run` any does.

    tutti run -- mpiexec -n 4 python3 examples/sums.py
"""
import sys

from mpi4py import MPI

try:
    import cupy as np

    np.cuda.runtime.getDeviceCount()
except Exception:  # no CuPy, or no GPU
    import numpy as np

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

mine = np.arange(10000, dtype=np.float32) + rank
total = np.empty_like(mine)
comm.Allreduce(mine, total)
expected = np.arange(10000, dtype=np.float32) * size + size * (size - 1) // 2
right = bool((total == expected).all())

comm.Allreduce(MPI.IN_PLACE, mine)
right &= bool((mine == expected).all())

parts = np.empty(size * 3, dtype=np.int64)
comm.Allgather(np.full(3, rank, dtype=np.int64), parts)
right &= bool((parts == np.repeat(np.arange(size), 3)).all())

right = comm.allreduce(right, MPI.LAND)
if rank == 0:
    print(f"sums.py: {size} ranks, arrays of {np.__name__}: {'correct' if right else 'WRONG'}")
sys.exit(not right)
