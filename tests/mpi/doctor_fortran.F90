! SPDX-License-Identifier: BSD-3-Clause
! Rank 1 stays away from the third call: `tutti doctor` has to say where the others are in this program, and not where
! they are in the MPI's Fortran.
program doctor_fortran
  use mpi
  implicit none
  integer :: rank, error, i
  real :: one, all

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  one = 1
  do i = 1, 2
     call MPI_Allreduce(one, all, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  if (rank == 1) call sleep(1000)
  call MPI_Allreduce(one, all, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error) ! the call that hangs
  call MPI_Finalize(error)
end program doctor_fortran
