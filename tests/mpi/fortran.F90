! SPDX-License-Identifier: BSD-3-Clause
! Every call that Tutti wraps, made from Fortran: the result must be right, and the call must have arrived exactly once
! at the C function of its name (fortran_counts.c counts). One text for three programs, each of which defines its own
! name: fortran_mpif includes mpif.h, fortran_mpi and fortran_f08 use the modules mpi and mpi_f08. With PERSISTENT the MPI
! has persistent collectives.
! Buffers are handed on through dummy arguments, so that each collective is written down once for host memory, GPU
! memory and MPI_IN_PLACE.
#ifdef fortran_f08
#define COMM_T type(MPI_Comm)
#define REQUEST_T type(MPI_Request)
#define DATATYPE_T type(MPI_Datatype)
#define OP_T type(MPI_Op)
#define MESSAGE_T type(MPI_Message)
#define FILE_T type(MPI_File)
#define INFO_T type(MPI_Info)
#define STATUS_T(s) type(MPI_Status) :: s
#define STATUSES_T(s, n) type(MPI_Status) :: s(n)
#define VALUE_OF(handle) handle%MPI_VAL
#define TAG_OF(s) s%MPI_TAG
#define TAG_OF_NTH(s, i) s(i)%MPI_TAG
#else
#define COMM_T integer
#define REQUEST_T integer
#define DATATYPE_T integer
#define OP_T integer
#define MESSAGE_T integer
#define FILE_T integer
#define INFO_T integer
#define STATUS_T(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES_T(s, n) integer :: s(MPI_STATUS_SIZE, n)
#define VALUE_OF(handle) handle
#define TAG_OF(s) s(MPI_TAG)
#define TAG_OF_NTH(s, i) s(MPI_TAG, i)
#endif

program fortran
  use iso_c_binding
#ifdef fortran_mpi
  use mpi
#endif
#ifdef fortran_f08
  use mpi_f08
#endif
  implicit none
#ifdef fortran_mpif
  include 'mpif.h'
#endif

  interface
    integer(c_int) function help_gpus(rank) bind(c)
      import :: c_int
      integer(c_int), value :: rank
    end function
    type(c_ptr) function help_take(bytes) bind(c)
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: bytes
    end function
    subroutine help_copy(to, from, bytes) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
    end subroutine
    integer(c_int) function help_native(from, to, n, datatype, op) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: from, to
      integer(c_int), value :: n, datatype, op
    end function
    integer(c_int) function help_set(name, value) bind(c)
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*), value(*)
    end function
    integer(c_int) function help_calls(name) bind(c)
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
  end interface

#ifdef fortran_f08
  interface
    subroutine take_left(in, inout, n, datatype)
      use iso_c_binding
      use mpi_f08
      type(c_ptr), value :: in, inout
      integer :: n
      type(MPI_Datatype) :: datatype
    end subroutine
  end interface
#else
  external :: take_left
#endif

  integer, parameter :: m = 3, room = 512, unset = -77, root = 1
  integer, parameter :: blocking = 1, nonblocking = 2, persistent = 3
  character(len=11), parameter :: flavours(3) = ['blocking   ', 'nonblocking', 'persistent ']

  ! what a collective works on: s and r are on the host, or on a GPU
  integer :: attached(1000)
  integer, target :: host_s(room), host_r(room), got(room), want(room)
  integer, pointer, contiguous :: s(:), r(:), gpu_s(:), gpu_r(:)
  logical :: on_gpu
  integer :: flavour

  integer :: ierr, me, p, provided, i, checks = 0, failures = 0
  character(len=200) :: doing = 'the start'
  COMM_T :: comm, ring, graph
  REQUEST_T :: request
  DATATYPE_T :: one

  call MPI_Init_thread(MPI_THREAD_SINGLE, provided, ierr)
  comm = MPI_COMM_WORLD
  call MPI_Comm_rank(comm, me, ierr)
  call MPI_Comm_size(comm, p, ierr)
  call once('MPI_Init_thread')
  call make_buffers()
  call MPI_Buffer_attach(attached, 4000, ierr)
  call MPI_Cart_create(comm, 1, [p], [.true.], .false., ring, ierr)
  call MPI_Dist_graph_create_adjacent(comm, 2, [left(), right()], [1, 1], 2, [left(), right()], [1, 1], MPI_INFO_NULL, &
                                      .false., graph, ierr)
  call MPI_Type_contiguous(1, MPI_INTEGER, one, ierr)
  call MPI_Type_commit(one, ierr)

  call use_host()
  call all_calls()
  if (associated(gpu_s)) then
    call use_gpu()
    call all_calls()
  end if
  call use_host()
  call try_types()
  call try_user_op()
  call try_many()
  call try_foreign()
  call try_hints()
  call try_errors()

  doing = 'the end'
  call MPI_Type_free(one, ierr)
  call MPI_Comm_free(graph, ierr)
  call forget_calls()
  call MPI_Comm_free(ring, ierr)
  call once('MPI_Comm_free')
  call check(ring == MPI_COMM_NULL, 'MPI_Comm_free leaves MPI_COMM_NULL')
  call totals()

contains

  ! All that have buffers.
  subroutine all_calls()
    call all_collectives()
    call try_bottom()
    call try_reduce_local()
    call try_messages()
    call try_probes()
    call try_persistent_messages()
#if defined(LARGE) && defined(fortran_f08)
    call try_large()
#endif
  end subroutine

  ! ---- checks ----

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what

    checks = checks + 1
    if (ok) return
    failures = failures + 1
    if (failures <= 20) print '(a, i0, 4a)', 'FAIL rank ', me, ': ', trim(doing), ': ', what
  end subroutine

  ! Since the last call of this, the program has called that function once, and no other.
  subroutine once(name)
    character(len=*), intent(in) :: name
    integer :: n
    character(len=200) :: text

    n = help_calls(name // c_null_char)
    write (text, '(3a, i0)') name, ' to have been called once, and nothing else: ', 'it says ', n
    call check(n == 1, trim(text))
    call check(ierr == MPI_SUCCESS, name // ' to return MPI_SUCCESS')
  end subroutine

  subroutine forget_calls()
    if (help_calls(c_null_char) == -2) call check(.false., 'fortran_counts.so to be preloaded')
  end subroutine

  subroutine totals()
    integer :: ours(2), all(2)

    ours = [checks, failures]
    call MPI_Allreduce(ours, all, 2, MPI_INTEGER, MPI_SUM, comm, ierr)
    if (me == 0) print '(i0, a, i0, a, i0, a)', 100 * (all(1) - all(2)) / all(1), '%: Checks: ', all(1), &
      ', Failures: ', all(2), ', Errors: 0'
    call MPI_Finalize(ierr)
    if (all(2) > 0) stop 1
  end subroutine

  ! ---- buffers ----

  subroutine make_buffers()
    type(c_ptr) :: a, b

    nullify (gpu_s, gpu_r)
    if (help_gpus(me) == 0) return
    a = help_take(int(4 * room, c_size_t))
    b = help_take(int(4 * room, c_size_t))
    call c_f_pointer(a, gpu_s, [room])
    call c_f_pointer(b, gpu_r, [room])
  end subroutine

  subroutine use_host()
    on_gpu = .false.
    s => host_s
    r => host_r
  end subroutine

  subroutine use_gpu()
    on_gpu = .true.
    s => gpu_s
    r => gpu_r
  end subroutine

  subroutine copy_to_s()
    if (on_gpu) call help_copy(c_loc(gpu_s(1)), c_loc(host_s), int(4 * room, c_size_t))
  end subroutine

  subroutine copy_to_r()
    if (on_gpu) call help_copy(c_loc(gpu_r(1)), c_loc(host_r), int(4 * room, c_size_t))
  end subroutine

  ! The i-th element that a rank contributes.
  integer function x(rank, i)
    integer, intent(in) :: rank, i

    x = 1000 * (rank + 1) + i
  end function

  ! Of all ranks from 0 to the last one.
  integer function total(last, i)
    integer, intent(in) :: last, i
    integer :: q

    total = 0
    do q = 0, last
      total = total + x(q, i)
    end do
  end function

  ! s holds x; r nothing, and nothing is wanted but what the test sets.
  subroutine begin(name, in_place)
    character(len=*), intent(in) :: name
    logical, intent(in) :: in_place
    integer :: j

    doing = trim(flavours(flavour)) // ' ' // name
    if (in_place) doing = trim(doing) // ' in place'
    if (on_gpu) doing = trim(doing) // ' on a GPU'
    host_s = [(x(me, j), j=1, room)]
    host_r = unset
    want = unset
    call copy_to_s()
    call copy_to_r()
  end subroutine

  ! The call has been made: sees it through, and looks what r has become.
  subroutine finish(name)
    character(len=*), intent(in) :: name

    select case (flavour)
    case (blocking)
      call once('MPI_' // name)
    case (nonblocking)
      call once('MPI_I' // achar(iachar(name(1:1)) + 32) // name(2:))
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      call once('MPI_Wait')
    case (persistent)
      call once('MPI_' // name // '_init')
      call MPI_Start(request, ierr)
      call once('MPI_Start')
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      call once('MPI_Wait')
      call check(request /= MPI_REQUEST_NULL, 'a persistent request to stay')
      call MPI_Request_free(request, ierr)
      call once('MPI_Request_free')
    end select
    if (flavour /= blocking) call check(request == MPI_REQUEST_NULL, 'the request to be MPI_REQUEST_NULL')
  end subroutine

  subroutine expect(n)
    integer, intent(in) :: n
    integer :: j

    got = host_r
    if (on_gpu) call help_copy(c_loc(got), c_loc(gpu_r(1)), int(4 * room, c_size_t))
    do j = 1, n
      if (got(j) /= want(j)) exit
    end do
    call check(j > n .and. all(got(n + 1:) == want(n + 1:)), 'the right result')
    if (j <= n .and. failures < 5) print *, 'rank', me, 'element', j, 'is', got(j), 'not', want(j)
  end subroutine

  ! ---- the collectives ----

  subroutine all_collectives()
    integer :: last, k

    last = nonblocking
#ifdef PERSISTENT
    last = persistent
#endif
    call forget_calls()
    do flavour = blocking, last
      do k = 0, 1
        call try_allreduce(k == 1)
        call try_reduce(k == 1)
        call try_allgather(k == 1)
        call try_reduce_scatter(k == 1)
        call try_reduce_scatter_block(k == 1)
        call try_alltoall(k == 1)
        call try_gather(k == 1)
        call try_scatter(k == 1)
        call try_scan(k == 1)
        call try_exscan(k == 1)
        call try_allgatherv(k == 1)
        call try_gatherv(k == 1)
        call try_scatterv(k == 1)
        call try_alltoallv(k == 1)
        call try_alltoallw(k == 1)
      end do
      call try_bcast()
      call try_neighbor_allgather()
      call try_neighbor_allgatherv()
      call try_neighbor_alltoall()
      call try_neighbor_alltoallv()
      call try_neighbor_alltoallw()
      call do_barrier()
    end do
  end subroutine

  subroutine do_barrier()
    doing = trim(flavours(flavour)) // ' barrier'
    select case (flavour)
    case (blocking)
      call MPI_Barrier(comm, ierr)
    case (nonblocking)
      call MPI_Ibarrier(comm, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Barrier_init(comm, MPI_INFO_NULL, request, ierr)
#endif
    end select
    call finish('Barrier')
  end subroutine

  subroutine try_bcast()
    call begin('bcast', .false.)
    host_r(1:m) = host_s(1:m)
    want(1:m) = [(x(root, i), i=1, m)]
    call copy_to_r()
    call do_bcast(r(1))
    call finish('Bcast')
    call expect(m)
  end subroutine

  subroutine do_bcast(b)
    integer :: b
#define ARGS b, m, MPI_INTEGER, root, comm
    select case (flavour)
    case (blocking)
      call MPI_Bcast(ARGS, ierr)
    case (nonblocking)
      call MPI_Ibcast(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Bcast_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_allreduce(in_place)
    logical, intent(in) :: in_place

    call begin('allreduce', in_place)
    if (in_place) host_r(1:m) = host_s(1:m)
    want(1:m) = [(total(p - 1, i), i=1, m)]
    call copy_to_r()
    if (in_place) call do_allreduce(MPI_IN_PLACE, r(1))
    if (.not. in_place) call do_allreduce(s(1), r(1))
    call finish('Allreduce')
    call expect(m)
  end subroutine

  subroutine do_allreduce(a, b)
    integer :: a, b
#define ARGS a, b, m, MPI_INTEGER, MPI_SUM, comm
    select case (flavour)
    case (blocking)
      call MPI_Allreduce(ARGS, ierr)
    case (nonblocking)
      call MPI_Iallreduce(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Allreduce_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_reduce(in_place)
    logical, intent(in) :: in_place

    call begin('reduce', in_place)
    if (in_place .and. me == root) host_r(1:m) = host_s(1:m)
    if (me == root) want(1:m) = [(total(p - 1, i), i=1, m)]
    call copy_to_r()
    if (in_place .and. me == root) then
      call do_reduce(MPI_IN_PLACE, r(1))
    else
      call do_reduce(s(1), r(1))
    end if
    call finish('Reduce')
    call expect(m)
  end subroutine

  subroutine do_reduce(a, b)
    integer :: a, b
#define ARGS a, b, m, MPI_INTEGER, MPI_SUM, root, comm
    select case (flavour)
    case (blocking)
      call MPI_Reduce(ARGS, ierr)
    case (nonblocking)
      call MPI_Ireduce(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Reduce_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_allgather(in_place)
    logical, intent(in) :: in_place
    integer :: q

    call begin('allgather', in_place)
    if (in_place) host_r(me * m + 1:me * m + m) = host_s(1:m)
    want(1:p * m) = [((x(q, i), i=1, m), q=0, p - 1)]
    call copy_to_r()
    if (in_place) call do_allgather(MPI_IN_PLACE, r(1))
    if (.not. in_place) call do_allgather(s(1), r(1))
    call finish('Allgather')
    call expect(p * m)
  end subroutine

  subroutine do_allgather(a, b)
    integer :: a, b
#define ARGS a, m, MPI_INTEGER, b, m, MPI_INTEGER, comm
    select case (flavour)
    case (blocking)
      call MPI_Allgather(ARGS, ierr)
    case (nonblocking)
      call MPI_Iallgather(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Allgather_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  ! Rank q's block has q + 1 elements; where it begins is first(q) + 1.
  integer function first(q)
    integer, intent(in) :: q

    first = q * (q + 1) / 2
  end function

  subroutine try_reduce_scatter(in_place)
    logical, intent(in) :: in_place
    integer :: counts(p)

    counts = [(i, i=1, p)]
    call begin('reduce_scatter', in_place)
    if (in_place) then
      host_r(1:first(p)) = host_s(1:first(p))
      want(1:first(p)) = host_s(1:first(p))
    end if
    want(1:me + 1) = [(total(p - 1, first(me) + i), i=1, me + 1)]
    call copy_to_r()
    if (in_place) call do_reduce_scatter(MPI_IN_PLACE, r(1), counts)
    if (.not. in_place) call do_reduce_scatter(s(1), r(1), counts)
    call finish('Reduce_scatter')
    call expect_of_block(me + 1, in_place)
  end subroutine

  ! In place, what is left of the buffer behind the result is anybody's.
  subroutine expect_of_block(n, in_place)
    integer, intent(in) :: n
    logical, intent(in) :: in_place

    if (.not. in_place) call expect(n)
    if (.not. in_place) return
    got = host_r
    if (on_gpu) call help_copy(c_loc(got), c_loc(gpu_r(1)), int(4 * room, c_size_t))
    call check(all(got(1:n) == want(1:n)), 'the right result')
  end subroutine

  subroutine do_reduce_scatter(a, b, counts)
    integer :: a, b, counts(p)
#define ARGS a, b, counts, MPI_INTEGER, MPI_SUM, comm
    select case (flavour)
    case (blocking)
      call MPI_Reduce_scatter(ARGS, ierr)
    case (nonblocking)
      call MPI_Ireduce_scatter(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Reduce_scatter_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_reduce_scatter_block(in_place)
    logical, intent(in) :: in_place

    call begin('reduce_scatter_block', in_place)
    if (in_place) host_r(1:p * m) = host_s(1:p * m)
    want(1:m) = [(total(p - 1, me * m + i), i=1, m)]
    call copy_to_r()
    if (in_place) call do_reduce_scatter_block(MPI_IN_PLACE, r(1))
    if (.not. in_place) call do_reduce_scatter_block(s(1), r(1))
    call finish('Reduce_scatter_block')
    call expect_of_block(m, in_place)
  end subroutine

  subroutine do_reduce_scatter_block(a, b)
    integer :: a, b
#define ARGS a, b, m, MPI_INTEGER, MPI_SUM, comm
    select case (flavour)
    case (blocking)
      call MPI_Reduce_scatter_block(ARGS, ierr)
    case (nonblocking)
      call MPI_Ireduce_scatter_block(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Reduce_scatter_block_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_alltoall(in_place)
    logical, intent(in) :: in_place
    integer :: q

    call begin('alltoall', in_place)
    if (in_place) host_r(1:p * m) = host_s(1:p * m)
    want(1:p * m) = [((x(q, me * m + i), i=1, m), q=0, p - 1)]
    call copy_to_r()
    if (in_place) call do_alltoall(MPI_IN_PLACE, r(1))
    if (.not. in_place) call do_alltoall(s(1), r(1))
    call finish('Alltoall')
    call expect(p * m)
  end subroutine

  subroutine do_alltoall(a, b)
    integer :: a, b
#define ARGS a, m, MPI_INTEGER, b, m, MPI_INTEGER, comm
    select case (flavour)
    case (blocking)
      call MPI_Alltoall(ARGS, ierr)
    case (nonblocking)
      call MPI_Ialltoall(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Alltoall_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_gather(in_place)
    logical, intent(in) :: in_place
    integer :: q

    call begin('gather', in_place)
    if (in_place .and. me == root) host_r(me * m + 1:me * m + m) = host_s(1:m)
    if (me == root) want(1:p * m) = [((x(q, i), i=1, m), q=0, p - 1)]
    call copy_to_r()
    if (in_place .and. me == root) then
      call do_gather(MPI_IN_PLACE, r(1))
    else
      call do_gather(s(1), r(1))
    end if
    call finish('Gather')
    call expect(p * m)
  end subroutine

  subroutine do_gather(a, b)
    integer :: a, b
#define ARGS a, m, MPI_INTEGER, b, m, MPI_INTEGER, root, comm
    select case (flavour)
    case (blocking)
      call MPI_Gather(ARGS, ierr)
    case (nonblocking)
      call MPI_Igather(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Gather_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_scatter(in_place)
    logical, intent(in) :: in_place

    call begin('scatter', in_place)
    if (.not. (in_place .and. me == root)) want(1:m) = [(x(root, me * m + i), i=1, m)]
    call copy_to_r()
    if (in_place .and. me == root) then
      call do_scatter(s(1), MPI_IN_PLACE)
    else
      call do_scatter(s(1), r(1))
    end if
    call finish('Scatter')
    call expect(m)
  end subroutine

  subroutine do_scatter(a, b)
    integer :: a, b
#define ARGS a, m, MPI_INTEGER, b, m, MPI_INTEGER, root, comm
    select case (flavour)
    case (blocking)
      call MPI_Scatter(ARGS, ierr)
    case (nonblocking)
      call MPI_Iscatter(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Scatter_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_scan(in_place)
    logical, intent(in) :: in_place

    call begin('scan', in_place)
    if (in_place) host_r(1:m) = host_s(1:m)
    want(1:m) = [(total(me, i), i=1, m)]
    call copy_to_r()
    if (in_place) call do_scan(MPI_IN_PLACE, r(1))
    if (.not. in_place) call do_scan(s(1), r(1))
    call finish('Scan')
    call expect(m)
  end subroutine

  subroutine do_scan(a, b)
    integer :: a, b
#define ARGS a, b, m, MPI_INTEGER, MPI_SUM, comm
    select case (flavour)
    case (blocking)
      call MPI_Scan(ARGS, ierr)
    case (nonblocking)
      call MPI_Iscan(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Scan_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  ! What rank 0 gets of exscan is nothing.
  subroutine try_exscan(in_place)
    logical, intent(in) :: in_place

    call begin('exscan', in_place)
    if (in_place) host_r(1:m) = host_s(1:m)
    want(1:m) = [(total(me - 1, i), i=1, m)]
    call copy_to_r()
    if (in_place) call do_exscan(MPI_IN_PLACE, r(1))
    if (.not. in_place) call do_exscan(s(1), r(1))
    call finish('Exscan')
    if (me > 0) call expect(m)
  end subroutine

  subroutine do_exscan(a, b)
    integer :: a, b
#define ARGS a, b, m, MPI_INTEGER, MPI_SUM, comm
    select case (flavour)
    case (blocking)
      call MPI_Exscan(ARGS, ierr)
    case (nonblocking)
      call MPI_Iexscan(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Exscan_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  ! Rank q's block has q + 1 elements and begins at element 1 + at(q): one is left free before each.
  subroutine uneven_blocks(counts, at)
    integer, intent(out) :: counts(p), at(p)

    counts = [(i, i=1, p)]
    at = [(first(i) + i + 1, i=0, p - 1)]
  end subroutine

  subroutine try_allgatherv(in_place)
    logical, intent(in) :: in_place
    integer :: counts(p), at(p), q

    call uneven_blocks(counts, at)
    call begin('allgatherv', in_place)
    if (in_place) host_r(at(me + 1) + 1:at(me + 1) + me + 1) = host_s(1:me + 1)
    do q = 0, p - 1
      want(at(q + 1) + 1:at(q + 1) + q + 1) = [(x(q, i), i=1, q + 1)]
    end do
    call copy_to_r()
    if (in_place) call do_allgatherv(MPI_IN_PLACE, r(1), counts, at)
    if (.not. in_place) call do_allgatherv(s(1), r(1), counts, at)
    call finish('Allgatherv')
    call expect(first(p) + p)
  end subroutine

  subroutine do_allgatherv(a, b, counts, at)
    integer :: a, b, counts(p), at(p)
#define ARGS a, me + 1, MPI_INTEGER, b, counts, at, MPI_INTEGER, comm
    select case (flavour)
    case (blocking)
      call MPI_Allgatherv(ARGS, ierr)
    case (nonblocking)
      call MPI_Iallgatherv(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Allgatherv_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_gatherv(in_place)
    logical, intent(in) :: in_place
    integer :: counts(p), at(p), q

    call uneven_blocks(counts, at)
    call begin('gatherv', in_place)
    if (in_place .and. me == root) host_r(at(me + 1) + 1:at(me + 1) + me + 1) = host_s(1:me + 1)
    do q = 0, p - 1
      if (me == root) want(at(q + 1) + 1:at(q + 1) + q + 1) = [(x(q, i), i=1, q + 1)]
    end do
    call copy_to_r()
    if (in_place .and. me == root) then
      call do_gatherv(MPI_IN_PLACE, r(1), counts, at)
    else
      call do_gatherv(s(1), r(1), counts, at)
    end if
    call finish('Gatherv')
    call expect(first(p) + p)
  end subroutine

  subroutine do_gatherv(a, b, counts, at)
    integer :: a, b, counts(p), at(p)
#define ARGS a, me + 1, MPI_INTEGER, b, counts, at, MPI_INTEGER, root, comm
    select case (flavour)
    case (blocking)
      call MPI_Gatherv(ARGS, ierr)
    case (nonblocking)
      call MPI_Igatherv(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Gatherv_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_scatterv(in_place)
    logical, intent(in) :: in_place
    integer :: counts(p), at(p)

    call uneven_blocks(counts, at)
    call begin('scatterv', in_place)
    if (.not. (in_place .and. me == root)) want(1:me + 1) = [(x(root, at(me + 1) + i), i=1, me + 1)]
    call copy_to_r()
    if (in_place .and. me == root) then
      call do_scatterv(s(1), MPI_IN_PLACE, counts, at)
    else
      call do_scatterv(s(1), r(1), counts, at)
    end if
    call finish('Scatterv')
    call expect(me + 1)
  end subroutine

  subroutine do_scatterv(a, b, counts, at)
    integer :: a, b, counts(p), at(p)
#define ARGS a, counts, at, MPI_INTEGER, b, me + 1, MPI_INTEGER, root, comm
    select case (flavour)
    case (blocking)
      call MPI_Scatterv(ARGS, ierr)
    case (nonblocking)
      call MPI_Iscatterv(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Scatterv_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  ! ---- all to all with blocks of 1 to 3 elements, as many one way as the other; one more is left free ----

  integer function between(q, t)
    integer, intent(in) :: q, t

    between = 1 + mod(q + t, 3)
  end function

  subroutine try_alltoallv(in_place)
    logical, intent(in) :: in_place
    integer :: counts(p), at(p)

    counts = [(between(me, i), i=0, p - 1)]
    at = [(4 * i, i=0, p - 1)]
    call begin('alltoallv', in_place)
    call want_alltoallv(in_place)
    if (in_place) call do_alltoallv(MPI_IN_PLACE, r(1), counts, at)
    if (.not. in_place) call do_alltoallv(s(1), r(1), counts, at)
    call finish('Alltoallv')
    call expect(4 * p)
  end subroutine

  subroutine want_alltoallv(in_place)
    logical, intent(in) :: in_place
    integer :: q

    if (in_place) host_r(1:4 * p) = host_s(1:4 * p)
    want = host_r
    do q = 0, p - 1
      want(4 * q + 1:4 * q + between(me, q)) = [(x(q, 4 * me + i), i=1, between(me, q))]
    end do
    call copy_to_r()
  end subroutine

  subroutine do_alltoallv(a, b, counts, at)
    integer :: a, b, counts(p), at(p)
#define ARGS a, counts, at, MPI_INTEGER, b, counts, at, MPI_INTEGER, comm
    select case (flavour)
    case (blocking)
      call MPI_Alltoallv(ARGS, ierr)
    case (nonblocking)
      call MPI_Ialltoallv(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Alltoallv_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_alltoallw(in_place)
    logical, intent(in) :: in_place
    integer :: counts(p), at(p)
    DATATYPE_T :: types(p)

    counts = [(between(me, i), i=0, p - 1)]
    at = [(16 * i, i=0, p - 1)]
    types = MPI_INTEGER
    types(1:p:2) = one
    call begin('alltoallw', in_place)
    call want_alltoallv(in_place)
    if (in_place) call do_alltoallw(MPI_IN_PLACE, r(1), counts, at, types)
    if (.not. in_place) call do_alltoallw(s(1), r(1), counts, at, types)
    call finish('Alltoallw')
    call expect(4 * p)
  end subroutine

  subroutine do_alltoallw(a, b, counts, at, types)
    integer :: a, b, counts(p), at(p)
    DATATYPE_T :: types(p)
#define ARGS a, counts, at, types, b, counts, at, types, comm
    select case (flavour)
    case (blocking)
      call MPI_Alltoallw(ARGS, ierr)
    case (nonblocking)
      call MPI_Ialltoallw(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Alltoallw_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  ! ---- neighbours: left and right on a ring. For alltoallw it is a graph: MPICH 4.0's mpi_f08 knows no other there ----

  integer function left()
    left = mod(me + p - 1, p)
  end function

  integer function right()
    right = mod(me + 1, p)
  end function

  subroutine try_neighbor_allgather()
    call begin('neighbor_allgather', .false.)
    want(1:2 * m) = [(x(left(), i), i=1, m), (x(right(), i), i=1, m)]
    call copy_to_r()
    call do_neighbor_allgather(s(1), r(1))
    call finish('Neighbor_allgather')
    call expect(2 * m)
  end subroutine

  subroutine do_neighbor_allgather(a, b)
    integer :: a, b
#define ARGS a, m, MPI_INTEGER, b, m, MPI_INTEGER, ring
    select case (flavour)
    case (blocking)
      call MPI_Neighbor_allgather(ARGS, ierr)
    case (nonblocking)
      call MPI_Ineighbor_allgather(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Neighbor_allgather_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_neighbor_allgatherv()
    integer :: counts(2), at(2)

    counts = [left() + 1, right() + 1]
    at = [counts(2) + 1, 0]
    call begin('neighbor_allgatherv', .false.)
    want(1:counts(2)) = [(x(right(), i), i=1, counts(2))]
    want(at(1) + 1:at(1) + counts(1)) = [(x(left(), i), i=1, counts(1))]
    call copy_to_r()
    call do_neighbor_allgatherv(s(1), r(1), counts, at)
    call finish('Neighbor_allgatherv')
    call expect(at(1) + counts(1))
  end subroutine

  subroutine do_neighbor_allgatherv(a, b, counts, at)
    integer :: a, b, counts(2), at(2)
#define ARGS a, me + 1, MPI_INTEGER, b, counts, at, MPI_INTEGER, ring
    select case (flavour)
    case (blocking)
      call MPI_Neighbor_allgatherv(ARGS, ierr)
    case (nonblocking)
      call MPI_Ineighbor_allgatherv(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Neighbor_allgatherv_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  ! What the left one sends to its right, and the right one to its left.
  subroutine want_of_neighbors()
    want(1:2 * m) = [(x(left(), m + i), i=1, m), (x(right(), i), i=1, m)]
    call copy_to_r()
  end subroutine

  subroutine try_neighbor_alltoall()
    call begin('neighbor_alltoall', .false.)
    call want_of_neighbors()
    call do_neighbor_alltoall(s(1), r(1))
    call finish('Neighbor_alltoall')
    call expect(2 * m)
  end subroutine

  subroutine do_neighbor_alltoall(a, b)
    integer :: a, b
#define ARGS a, m, MPI_INTEGER, b, m, MPI_INTEGER, ring
    select case (flavour)
    case (blocking)
      call MPI_Neighbor_alltoall(ARGS, ierr)
    case (nonblocking)
      call MPI_Ineighbor_alltoall(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Neighbor_alltoall_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_neighbor_alltoallv()
    integer :: counts(2), at(2)

    counts = m
    at = [0, m]
    call begin('neighbor_alltoallv', .false.)
    call want_of_neighbors()
    call do_neighbor_alltoallv(s(1), r(1), counts, at)
    call finish('Neighbor_alltoallv')
    call expect(2 * m)
  end subroutine

  subroutine do_neighbor_alltoallv(a, b, counts, at)
    integer :: a, b, counts(2), at(2)
#define ARGS a, counts, at, MPI_INTEGER, b, counts, at, MPI_INTEGER, ring
    select case (flavour)
    case (blocking)
      call MPI_Neighbor_alltoallv(ARGS, ierr)
    case (nonblocking)
      call MPI_Ineighbor_alltoallv(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Neighbor_alltoallv_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  subroutine try_neighbor_alltoallw()
    integer :: counts(2)
    integer(MPI_ADDRESS_KIND) :: at(2)
    DATATYPE_T :: types(2)

    counts = m
    at = [0, 4 * m]
    types = [MPI_INTEGER, one]
    call begin('neighbor_alltoallw', .false.)
    call want_of_neighbors()
    call do_neighbor_alltoallw(s(1), r(1), counts, at, types)
    call finish('Neighbor_alltoallw')
    call expect(2 * m)
  end subroutine

  subroutine do_neighbor_alltoallw(a, b, counts, at, types)
    integer :: a, b, counts(2)
    integer(MPI_ADDRESS_KIND) :: at(2)
    DATATYPE_T :: types(2)
#define ARGS a, counts, at, types, b, counts, at, types, graph
    select case (flavour)
    case (blocking)
      call MPI_Neighbor_alltoallw(ARGS, ierr)
    case (nonblocking)
      call MPI_Ineighbor_alltoallw(ARGS, request, ierr)
#ifdef PERSISTENT
    case (persistent)
      call MPI_Neighbor_alltoallw_init(ARGS, MPI_INFO_NULL, request, ierr)
#endif
    end select
#undef ARGS
  end subroutine

  ! ---- MPI_BOTTOM ----

  subroutine try_bottom()
    integer(MPI_ADDRESS_KIND) :: address(1)
    DATATYPE_T :: absolute

    call MPI_Get_address(s(1), address(1), ierr)
    call MPI_Type_create_hindexed(1, [m], address, MPI_INTEGER, absolute, ierr)
    call MPI_Type_commit(absolute, ierr)
    do flavour = blocking, nonblocking
      call begin('bcast from MPI_BOTTOM', .false.)
      if (flavour == blocking) call MPI_Bcast(MPI_BOTTOM, 1, absolute, root, comm, ierr)
      if (flavour == nonblocking) call MPI_Ibcast(MPI_BOTTOM, 1, absolute, root, comm, request, ierr)
      call finish('Bcast')
      if (on_gpu) call help_copy(c_loc(host_s), c_loc(gpu_s(1)), int(4 * room, c_size_t))
      call check(all(host_s(1:m + 1) == [(x(root, i), i=1, m), x(me, m + 1)]), 'the right result')
    end do
    call MPI_Type_free(absolute, ierr)
  end subroutine

  ! ---- Fortran's types, with every op that they may have, against what the MPI says ----

  subroutine try_types()
    DATATYPE_T :: integers(5), reals(5), complexes(4), pairs(3)
    OP_T :: arithmetic(7), logical_ops(3), places(2)
    integer :: t, k, size

    integers = [MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8]
    reals = [MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8, MPI_REAL]
    complexes = [MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16]
    pairs = [MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION]
    arithmetic = [MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR]
    logical_ops = [MPI_LAND, MPI_LOR, MPI_LXOR]
    places = [MPI_MAXLOC, MPI_MINLOC]
    do t = 1, 5
      do k = 1, 7
        call MPI_Type_size(integers(t), size, ierr)
        call try_type('integer', 0, size, 1, integers(t), arithmetic(k))
        call MPI_Type_size(reals(t), size, ierr)
        if (k <= 4) call try_type('real', 1, size, 1, reals(t), arithmetic(k))
        if (t > 4) cycle
        call MPI_Type_size(complexes(t), size, ierr)
        if (k <= 2) call try_type('complex', 1, size / 2, 2, complexes(t), arithmetic(k))
      end do
    end do
    do k = 1, 3
      call MPI_Type_size(MPI_LOGICAL, size, ierr)
      call try_type('logical', 2, size, 1, MPI_LOGICAL, logical_ops(k))
      call try_type('byte', 0, 1, 1, MPI_BYTE, arithmetic(4 + k))
    end do
    do k = 1, 2
      call try_type('pair of integers', 0, 4, 2, pairs(1), places(k))
      call try_type('pair of reals', 1, 4, 2, pairs(2), places(k))
      call try_type('pair of doubles', 1, 8, 2, pairs(3), places(k))
    end do
  end subroutine

  ! each: numbers in an element, of size bytes; class: 0 integers, 1 reals, 2 logicals
  subroutine try_type(name, class, size, each, datatype, op)
    character(len=*), intent(in) :: name
    integer, intent(in) :: class, size, each
    DATATYPE_T, intent(in) :: datatype
    OP_T, intent(in) :: op
    integer, parameter :: n = 5
    integer, allocatable :: words(:)

    write (doing, '(3a, i0, a)') 'allreduce of a Fortran type, ', name, ' of ', size, ' bytes'
    host_s = 0
    host_r = unset
    words = numbers(class, size, n * each)
    host_s(1:ubound(words, 1)) = words
    call MPI_Allreduce(host_s, host_r, n, datatype, op, comm, ierr)
    call once('MPI_Allreduce')
    got = host_r
    host_r = unset
    ierr = help_native(c_loc(host_s), c_loc(host_r), n, VALUE_OF(datatype), VALUE_OF(op))
    call check(ierr == MPI_SUCCESS .and. all(got == host_r), 'the result that the MPI has')
    if (.not. associated(gpu_s)) return
    got = unset
    call help_copy(c_loc(gpu_s(1)), c_loc(host_s), int(4 * room, c_size_t))
    call help_copy(c_loc(gpu_r(1)), c_loc(got), int(4 * room, c_size_t))
    call MPI_Allreduce(gpu_s, gpu_r, n, datatype, op, comm, ierr)
    call once('MPI_Allreduce')
    call help_copy(c_loc(got), c_loc(gpu_r(1)), int(4 * room, c_size_t))
    call check(all(got == host_r), 'the same result on a GPU')
  end subroutine

  ! This rank's small numbers in that representation, as words of 4 bytes.
  function numbers(class, size, n) result(words)
    integer, intent(in) :: class, size, n
    integer, allocatable :: words(:)
    integer :: v(n + 4), full

    v = [(1 + mod(3 * i + me, 4), i=1, n + 4)]
    full = 4 * (n / 4 + 1)
    if (class == 0 .and. size == 1) words = transfer(int(v(1:full), selected_int_kind(2)), words)
    if (class == 0 .and. size == 2) words = transfer(int(v(1:full), selected_int_kind(4)), words)
    if (class == 0 .and. size == 4) words = v(1:n)
    if (class == 0 .and. size == 8) words = transfer(int(v(1:n), selected_int_kind(18)), words)
    if (class == 1 .and. size == 4) words = transfer(real(v(1:n)), words)
    if (class == 1 .and. size == 8) words = transfer(dble(v(1:n)), words)
    if (class == 2) words = transfer(v(1:n) > 2, words)
  end function

  ! ---- a user's op ----

  ! Not commutative: the result is what the first rank has.
  subroutine try_user_op()
    OP_T :: op

    flavour = blocking
    call begin('user op', .false.)
    want(1:m) = [(x(0, i), i=1, m)]
    call MPI_Op_create(take_left, .false., op, ierr)
    call MPI_Allreduce(host_s, host_r, m, MPI_INTEGER, op, comm, ierr)
    call once('MPI_Allreduce')
    call expect(m)
    call MPI_Op_free(op, ierr)
    call once('MPI_Op_free')
    call check(op == MPI_OP_NULL, 'MPI_Op_free leaves MPI_OP_NULL')
  end subroutine

  subroutine try_reduce_local()
    flavour = blocking
    call begin('reduce_local', .false.)
    host_r(1:m) = 5
    want(1:m) = [(5 + x(me, i), i=1, m)]
    call copy_to_r()
    call MPI_Reduce_local(s, r, m, MPI_INTEGER, MPI_SUM, ierr)
    call once('MPI_Reduce_local')
    call expect(m)
  end subroutine

  ! ---- messages ----

  ! m elements from the left are awaited with that tag.
  subroutine begin_message(name, tag)
    character(len=*), intent(in) :: name
    integer, intent(in) :: tag

    flavour = blocking
    call begin(name, .false.)
    want(1:m) = [(x(left(), i), i=1, m)]
    call MPI_Irecv(r, m, MPI_INTEGER, left(), tag, comm, request, ierr)
    call once('MPI_Irecv')
    call MPI_Barrier(comm, ierr)
    call once('MPI_Barrier')
  end subroutine

  subroutine end_message(name, tag)
    character(len=*), intent(in) :: name
    integer, intent(in) :: tag
    STATUS_T(status)
    integer :: n

    call once(name)
    call MPI_Wait(request, status, ierr)
    call once('MPI_Wait')
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    call check(TAG_OF(status) == tag .and. n == m, 'the right status')
    call expect(m)
  end subroutine

  subroutine try_messages()
    STATUS_T(status)

    call begin_message('send', 1)
    call MPI_Send(s, m, MPI_INTEGER, right(), 1, comm, ierr)
    call end_message('MPI_Send', 1)
    call begin_message('bsend', 2)
    call MPI_Bsend(s, m, MPI_INTEGER, right(), 2, comm, ierr)
    call end_message('MPI_Bsend', 2)
    call begin_message('ssend', 3)
    call MPI_Ssend(s, m, MPI_INTEGER, right(), 3, comm, ierr)
    call end_message('MPI_Ssend', 3)
    call begin_message('rsend', 4)
    call MPI_Rsend(s, m, MPI_INTEGER, right(), 4, comm, ierr)
    call end_message('MPI_Rsend', 4)
    call try_isend()

    call begin('sendrecv', .false.)
    want(1:m) = [(x(left(), i), i=1, m)]
    call MPI_Sendrecv(s, m, MPI_INTEGER, right(), 5, r, m, MPI_INTEGER, left(), 5, comm, status, ierr)
    call once('MPI_Sendrecv')
    call check(TAG_OF(status) == 5, 'the right status')
    call expect(m)
    host_r = unset
    host_r(1:m) = host_s(1:m)
    call copy_to_r()
    call MPI_Sendrecv_replace(r, m, MPI_INTEGER, right(), 6, left(), 6, comm, MPI_STATUS_IGNORE, ierr)
    call once('MPI_Sendrecv_replace')
    call expect(m)
  end subroutine

  subroutine try_isend()
    REQUEST_T :: sent
    STATUS_T(status)

    call begin_message('isend', 1)
    call MPI_Isend(s, m, MPI_INTEGER, right(), 1, comm, sent, ierr)
    call end_message('MPI_Isend', 1)
    call MPI_Wait(sent, MPI_STATUS_IGNORE, ierr)
    call once('MPI_Wait')
    call begin_message('ibsend', 2)
    call MPI_Ibsend(s, m, MPI_INTEGER, right(), 2, comm, sent, ierr)
    call end_message('MPI_Ibsend', 2)
    call MPI_Wait(sent, MPI_STATUS_IGNORE, ierr)
    call once('MPI_Wait')
    call begin_message('issend', 3)
    call MPI_Issend(s, m, MPI_INTEGER, right(), 3, comm, sent, ierr)
    call end_message('MPI_Issend', 3)
    call MPI_Wait(sent, MPI_STATUS_IGNORE, ierr)
    call once('MPI_Wait')
    call begin_message('irsend', 4)
    call MPI_Irsend(s, m, MPI_INTEGER, right(), 4, comm, sent, ierr)
    call end_message('MPI_Irsend', 4)
    call MPI_Wait(sent, status, ierr)
    call once('MPI_Wait')

    call begin('recv', .false.)
    want(1:m) = [(x(left(), i), i=1, m)]
    call MPI_Isend(s, m, MPI_INTEGER, right(), 7, comm, sent, ierr)
    call once('MPI_Isend')
    call MPI_Recv(r, m, MPI_INTEGER, left(), MPI_ANY_TAG, comm, status, ierr)
    call once('MPI_Recv')
    call check(TAG_OF(status) == 7, 'the right status')
    call expect(m)
    call MPI_Request_free(sent, ierr)
    call once('MPI_Request_free')
    call check(sent == MPI_REQUEST_NULL, 'MPI_Request_free leaves MPI_REQUEST_NULL')
  end subroutine

  ! ---- many requests, places in whose array are counted from 1 ----

  ! No request; a message of tag 8 from this rank itself, which has been sent; one of tag 9, which has not; a
  ! collective, if wanted.
  subroutine start_many(name, requests, with_collective)
    character(len=*), intent(in) :: name
    REQUEST_T, intent(out) :: requests(4)
    logical, intent(in) :: with_collective

    flavour = nonblocking
    call begin(name, .false.)
    requests = MPI_REQUEST_NULL
    call MPI_Irecv(got(1), 1, MPI_INTEGER, me, 8, comm, requests(2), ierr)
    call MPI_Irecv(got(2), 1, MPI_INTEGER, me, 9, comm, requests(3), ierr)
    if (with_collective) call MPI_Iallreduce(host_s, host_r, m, MPI_INTEGER, MPI_SUM, comm, requests(4), ierr)
    call MPI_Send(host_s(1), 1, MPI_INTEGER, me, 8, comm, ierr)
    call forget_calls()
  end subroutine

  subroutine send_other()
    call MPI_Send(host_s(2), 1, MPI_INTEGER, me, 9, comm, ierr)
    call once('MPI_Send')
  end subroutine

  subroutine end_many(requests)
    REQUEST_T, intent(in) :: requests(4)
    integer :: j

    do j = 1, 4
      call check(requests(j) == MPI_REQUEST_NULL, 'all requests to be MPI_REQUEST_NULL')
    end do
    call check(all(got(1:2) == [x(me, 1), x(me, 2)]), 'the right messages')
  end subroutine

  subroutine try_many()
    call try_all()
    call try_any()
    call try_some()
    call try_one()
  end subroutine

  subroutine try_all()
    REQUEST_T :: requests(4)
    STATUSES_T(statuses, 4)
    logical :: flag
    integer :: k

    do k = 1, 2
      call start_many('waitall and testall', requests, .true.)
      call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, ierr)
      call once('MPI_Testall')
      call check(.not. flag, 'not all to be complete')
      call send_other()
      flag = .false.
      do while (k == 1 .and. .not. flag)
        call MPI_Testall(4, requests, flag, statuses, ierr)
        call once('MPI_Testall')
      end do
      if (k == 2) call MPI_Waitall(4, requests, statuses, ierr)
      if (k == 2) call once('MPI_Waitall')
      call check(TAG_OF_NTH(statuses, 2) == 8 .and. TAG_OF_NTH(statuses, 3) == 9, 'the right statuses')
      call end_many(requests)
      call check(all(host_r(1:m) == [(total(p - 1, i), i=1, m)]), 'the right result of the collective')
    end do
  end subroutine

  subroutine try_any()
    REQUEST_T :: requests(4)
    STATUS_T(status)
    logical :: flag
    integer :: index

    call start_many('waitany and testany', requests, .false.)
    call MPI_Waitany(4, requests, index, status, ierr)
    call once('MPI_Waitany')
    call check(index == 2 .and. TAG_OF(status) == 8, 'the second to be complete')
    call MPI_Testany(4, requests, index, flag, status, ierr)
    call once('MPI_Testany')
    call check(.not. flag .and. no_place(index), 'none to be complete')
    call send_other()
    flag = .false.
    do while (.not. flag)
      call MPI_Testany(4, requests, index, flag, status, ierr)
      call once('MPI_Testany')
    end do
    call check(index == 3 .and. TAG_OF(status) == 9, 'the third to be complete')
    call end_many(requests)
    call MPI_Waitany(4, requests, index, status, ierr)
    call once('MPI_Waitany')
    call check(no_place(index), 'none to be left')
  end subroutine

  ! MPICH 4.0's own mpif.h and mpi add 1 to MPI_UNDEFINED, too.
  logical function no_place(index)
    integer, intent(in) :: index

#ifdef fortran_f08
    no_place = index == MPI_UNDEFINED
#else
    no_place = index == MPI_UNDEFINED .or. index == MPI_UNDEFINED + 1
#endif
  end function

  subroutine try_some()
    REQUEST_T :: requests(4)
    STATUSES_T(statuses, 4)
    integer :: indices(4), n

    call start_many('waitsome and testsome', requests, .false.)
    call MPI_Waitsome(4, requests, n, indices, statuses, ierr)
    call once('MPI_Waitsome')
    call check(n == 1 .and. indices(1) == 2 .and. TAG_OF_NTH(statuses, 1) == 8, 'the second to be complete')
    call MPI_Testsome(4, requests, n, indices, MPI_STATUSES_IGNORE, ierr)
    call once('MPI_Testsome')
    call check(n == 0, 'none to be complete')
    call send_other()
    do while (n == 0)
      call MPI_Testsome(4, requests, n, indices, statuses, ierr)
      call once('MPI_Testsome')
    end do
    call check(n == 1 .and. indices(1) == 3 .and. TAG_OF_NTH(statuses, 1) == 9, 'the third to be complete')
    call end_many(requests)
    call MPI_Waitsome(4, requests, n, indices, statuses, ierr)
    call once('MPI_Waitsome')
    call check(n == MPI_UNDEFINED, 'none to be left')
  end subroutine

  subroutine try_one()
    REQUEST_T :: requests(4)
    STATUS_T(status)
    logical :: flag

    call start_many('test, request_get_status and cancel', requests, .false.)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(requests(2), flag, status, ierr)
      call once('MPI_Request_get_status')
    end do
    call check(TAG_OF(status) == 8 .and. requests(2) /= MPI_REQUEST_NULL, 'the right status, the request to stay')
    call MPI_Test(requests(2), flag, status, ierr)
    call once('MPI_Test')
    call check(flag .and. TAG_OF(status) == 8, 'it to be complete')
    call MPI_Test(requests(3), flag, status, ierr)
    call once('MPI_Test')
    call check(.not. flag .and. requests(3) /= MPI_REQUEST_NULL, 'it not to be complete')
    call MPI_Cancel(requests(3), ierr)
    call once('MPI_Cancel')
    call MPI_Wait(requests(3), status, ierr)
    call once('MPI_Wait')
    call MPI_Test_cancelled(status, flag, ierr)
    call check(flag, 'it to be cancelled')
  end subroutine

  ! ---- probes ----

  subroutine start_probe(name, sent, tag)
    character(len=*), intent(in) :: name
    REQUEST_T, intent(out) :: sent
    integer, intent(in) :: tag

    flavour = blocking
    call begin(name, .false.)
    want(1:m) = host_s(1:m)
    call MPI_Isend(s, m, MPI_INTEGER, me, tag, comm, sent, ierr)
    call once('MPI_Isend')
  end subroutine

  subroutine end_probe(sent)
    REQUEST_T, intent(inout) :: sent

    call expect(m)
    call MPI_Wait(sent, MPI_STATUS_IGNORE, ierr)
    call once('MPI_Wait')
  end subroutine

  subroutine try_probes()
    REQUEST_T :: sent
    MESSAGE_T :: message
    STATUS_T(status)
    logical :: flag

    call start_probe('probe', sent, 11)
    call MPI_Probe(me, MPI_ANY_TAG, comm, status, ierr)
    call once('MPI_Probe')
    call check(TAG_OF(status) == 11, 'the right status')
    flag = .false.
    do while (.not. flag)
      call MPI_Iprobe(me, MPI_ANY_TAG, comm, flag, status, ierr)
      call once('MPI_Iprobe')
    end do
    call check(TAG_OF(status) == 11, 'the right status')
    call MPI_Recv(r, m, MPI_INTEGER, me, 11, comm, MPI_STATUS_IGNORE, ierr)
    call once('MPI_Recv')
    call end_probe(sent)

    call start_probe('mprobe', sent, 12)
    call MPI_Mprobe(me, MPI_ANY_TAG, comm, message, status, ierr)
    call once('MPI_Mprobe')
    call check(TAG_OF(status) == 12, 'the right status')
    call MPI_Mrecv(r, m, MPI_INTEGER, message, status, ierr)
    call once('MPI_Mrecv')
    call check(TAG_OF(status) == 12 .and. message == MPI_MESSAGE_NULL, 'the message to be received')
    call end_probe(sent)

    call start_probe('improbe', sent, 13)
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(me, 13, comm, flag, message, status, ierr)
      call once('MPI_Improbe')
    end do
    call MPI_Imrecv(r, m, MPI_INTEGER, message, request, ierr)
    call once('MPI_Imrecv')
    call MPI_Wait(request, status, ierr)
    call once('MPI_Wait')
    call check(TAG_OF(status) == 13, 'the right status')
    call end_probe(sent)
  end subroutine

  ! ---- persistent messages ----

  subroutine try_persistent_messages()
    REQUEST_T :: requests(2)

    call init_receive('send_init', requests(1))
    call MPI_Send_init(s, m, MPI_INTEGER, right(), 14, comm, requests(2), ierr)
    call finish_persistent('MPI_Send_init', requests)
    call init_receive('bsend_init', requests(1))
    call MPI_Bsend_init(s, m, MPI_INTEGER, right(), 14, comm, requests(2), ierr)
    call finish_persistent('MPI_Bsend_init', requests)
    call init_receive('ssend_init', requests(1))
    call MPI_Ssend_init(s, m, MPI_INTEGER, right(), 14, comm, requests(2), ierr)
    call finish_persistent('MPI_Ssend_init', requests)
    call init_receive('rsend_init', requests(1))
    call MPI_Rsend_init(s, m, MPI_INTEGER, right(), 14, comm, requests(2), ierr)
    call finish_persistent('MPI_Rsend_init', requests)
  end subroutine

  subroutine init_receive(name, received)
    character(len=*), intent(in) :: name
    REQUEST_T, intent(out) :: received

    flavour = persistent
    call begin(name, .false.)
    want(1:m) = [(x(left(), i), i=1, m)]
    call MPI_Recv_init(r, m, MPI_INTEGER, left(), 14, comm, received, ierr)
    call once('MPI_Recv_init')
  end subroutine

  ! Twice: both at once; and the receive first, for the send that must find it ready.
  subroutine finish_persistent(name, requests)
    character(len=*), intent(in) :: name
    REQUEST_T, intent(inout) :: requests(2)
    integer :: j

    call once(name)
    if (name /= 'MPI_Rsend_init') then
      call MPI_Startall(2, requests, ierr)
      call once('MPI_Startall')
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
      call once('MPI_Waitall')
      call expect(m)
      host_r = unset
      call copy_to_r()
    end if
    call MPI_Start(requests(1), ierr)
    call once('MPI_Start')
    call MPI_Barrier(comm, ierr)
    call once('MPI_Barrier')
    call MPI_Start(requests(2), ierr)
    call once('MPI_Start')
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call once('MPI_Waitall')
    call expect(m)
    do j = 1, 2
      call MPI_Request_free(requests(j), ierr)
      call once('MPI_Request_free')
    end do
  end subroutine

#if defined(LARGE) && defined(fortran_f08)
  ! A large count makes it the C function's _c twin, which is not counted.
  subroutine try_large()
    flavour = blocking
    call begin('allreduce with a large count', .false.)
    want(1:m) = [(total(p - 1, i), i=1, m)]
    call MPI_Allreduce(s, r, int(m, MPI_COUNT_KIND), MPI_INTEGER, MPI_SUM, comm, ierr)
    call check(ierr == MPI_SUCCESS, 'MPI_Allreduce to return MPI_SUCCESS')
    call expect(m)
    call begin('iallreduce with a large count', .false.)
    want(1:m) = [(total(p - 1, i), i=1, m)]
    call MPI_Iallreduce(s, r, int(m, MPI_COUNT_KIND), MPI_INTEGER, MPI_SUM, comm, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call once('MPI_Wait')
    call expect(m)
  end subroutine
#endif

  ! ---- calls that stay the MPI's own ----

  ! The last rank makes one before it waits for a sum, which the others wait for first; and the calls have strings and
  ! logicals.
  subroutine try_foreign()
    character(len=*), parameter :: calls(4) = ['MPI_Comm_dup   ', 'MPI_Cart_create', 'MPI_Comm_split ', 'MPI_File_open  ']
    integer, parameter :: mode = MPI_MODE_CREATE + MPI_MODE_WRONLY + MPI_MODE_DELETE_ON_CLOSE
    COMM_T :: made
    FILE_T :: opened
    integer :: k, n

    flavour = nonblocking
    n = help_set('TUTTI_ALLREDUCE' // c_null_char, 'ring' // c_null_char) ! many messages, one after the other
    call check(n == MPI_SUCCESS, 'Tutti to be preloaded')
    do k = 1, 4
      call begin('sum while a rank is in ' // calls(k), .false.)
      call MPI_Iallreduce(host_s, host_r, room, MPI_INTEGER, MPI_SUM, comm, request, ierr)
      if (me /= p - 1) call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      made = MPI_COMM_NULL
      select case (k)
      case (1)
        call MPI_Comm_dup(comm, made, ierr)
      case (2)
        call MPI_Cart_create(comm, 1, [p], [.true.], .false., made, ierr)
      case (3)
        call MPI_Comm_split(comm, 5, me, made, ierr)
      case (4)
        call MPI_File_open(comm, 'fortran_foreign.tmp', mode, MPI_INFO_NULL, opened, ierr)
        call check(ierr == MPI_SUCCESS, 'the file to be opened')
        call MPI_File_close(opened, ierr)
      end select
      call check(ierr == MPI_SUCCESS, 'the call to return MPI_SUCCESS')
      if (me == p - 1) call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      call check(all(host_r == [(total(p - 1, i), i=1, room)]), 'the right sum')
      if (made == MPI_COMM_NULL) cycle
      call MPI_Comm_size(made, n, ierr)
      call check(n == p, 'all ranks in what was made')
      call MPI_Comm_free(made, ierr)
    end do
    n = help_set('TUTTI_ALLREDUCE' // c_null_char, c_null_char)
    call forget_calls()
  end subroutine

  ! ---- info keys ----

  ! They arrive, and come back; and one that means nothing is an error, with which no communicator is made.
  subroutine try_hints()
    COMM_T :: made, none
    INFO_T :: info, got
    character(len=64) :: value
    logical :: there

    doing = 'info keys'
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'tutti_bcast', 'chain/8K', ierr)
    call MPI_Comm_dup_with_info(comm, info, made, ierr)
    call check(ierr == MPI_SUCCESS, 'MPI_Comm_dup_with_info to return MPI_SUCCESS')
    call MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN, ierr)
    call MPI_Info_set(info, 'tutti_bcast', 'binomial', ierr)
    call MPI_Comm_set_info(made, info, ierr)
    call check(ierr == MPI_SUCCESS, 'MPI_Comm_set_info to return MPI_SUCCESS')
    call forget_calls()
    call MPI_Comm_get_info(made, got, ierr)
    call once('MPI_Comm_get_info')
    call MPI_Info_get(got, 'tutti_bcast', 60, value, there, ierr)
    call check(there, 'MPI_Comm_get_info to return the key')
    if (there) call check(value(1:8) == 'binomial', 'the value that was set') ! whatever fills up the rest
    call MPI_Info_free(got, ierr)
    call MPI_Info_set(info, 'tutti_bcast', 'binomail', ierr)
    call MPI_Comm_set_info(made, info, ierr)
    call check(ierr /= MPI_SUCCESS, 'a value that means nothing to be refused')
    call MPI_Comm_dup_with_info(made, info, none, ierr)
    call check(ierr /= MPI_SUCCESS .and. none == MPI_COMM_NULL, 'no communicator with a key that means nothing')
    call MPI_Info_free(info, ierr)
    call MPI_Comm_free(made, ierr)
    call forget_calls()
  end subroutine

  ! ---- errors ----

  ! Handles of nothing come back as errors, as do arguments that make no sense.
  subroutine try_errors()
    COMM_T :: nowhere

    doing = 'errors'
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierr)
    call forget_calls()
    call MPI_Bcast(host_s, m, MPI_DATATYPE_NULL, root, comm, ierr)
    call failed('MPI_Bcast', MPI_ERR_TYPE)
    call MPI_Bcast(host_s, -1, MPI_INTEGER, root, comm, ierr)
    call failed('MPI_Bcast', MPI_ERR_COUNT)
    call MPI_Ireduce(host_s, host_r, m, MPI_INTEGER, MPI_SUM, p, comm, request, ierr)
    call failed('MPI_Ireduce', MPI_ERR_ROOT)
    nowhere = MPI_COMM_NULL
    call MPI_Barrier(nowhere, ierr)
    call failed('MPI_Barrier', MPI_ERR_COMM)
    VALUE_OF(nowhere) = 123456
    call MPI_Allreduce(host_s, host_r, m, MPI_INTEGER, MPI_SUM, nowhere, ierr)
    call failed('MPI_Allreduce', MPI_ERR_COMM)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL, ierr)
  end subroutine

  subroutine failed(name, class)
    character(len=*), intent(in) :: name
    integer, intent(in) :: class
    integer :: code, got_class

    code = ierr
    call MPI_Error_class(code, got_class, ierr)
    call check(got_class == class, name // ' to fail as it should')
    call once(name)
  end subroutine
end program

! A user's op: the operand that stands to the left.
#ifdef fortran_f08
subroutine take_left(in, inout, n, datatype)
  use iso_c_binding
  use mpi_f08
  implicit none
  type(c_ptr), value :: in, inout
  integer :: n
  type(MPI_Datatype) :: datatype
  integer, pointer :: a(:), b(:)

  call c_f_pointer(in, a, [n])
  call c_f_pointer(inout, b, [n])
  if (datatype == MPI_INTEGER) b = a
end subroutine
#else
subroutine take_left(in, inout, n, datatype)
  implicit none
  integer :: n, in(n), inout(n), datatype

  if (datatype /= 0) inout = in
end subroutine
#endif
