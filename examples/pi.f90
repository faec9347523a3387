! SPDX-License-Identifier: BSD-3-Clause
! Fortran: pi by numerical integration, each rank taking every size-th slice, summed in place on all of them. MPI_IN_PLACE is
! another address in Fortran than in C; Tutti knows both.
!
!   mpif90 pi.f90;  tutti run --explain -- mpiexec -n 4 ./a.out
program pi
    use mpi
    implicit none
    integer, parameter :: slices = 1000000
    integer :: rank, ranks, i, error
    double precision :: x, total(1)

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    total = 0
    do i = rank, slices - 1, ranks
        x = (i + 0.5d0) / slices
        total(1) = total(1) + 4 / (1 + x * x) / slices
    end do
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print '(a, i0, a, f13.10)', 'pi: ', ranks, ' ranks: ', total(1)
    call MPI_Finalize(error)
    if (abs(total(1) - 3.14159265359d0) > 1d-9) stop 1
end program pi
