/* What is needed of MPI, as plain C functions: the types of MPI differ between its
   implementations, those of these functions do not. Errors end all processes, which is
   what MPI does unless told otherwise. */

#include <mpi.h>

void parsity_mpi_start(int *rank, int *size) {
    int provided;
    /* Several threads compute, one of them talks. */
    MPI_Init_thread(0, 0, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
}

void parsity_mpi_send(const float *numbers, int count, int to) {
    MPI_Send(numbers, count, MPI_FLOAT, to, 0, MPI_COMM_WORLD);
}

void parsity_mpi_receive(float *numbers, int count, int from) {
    MPI_Recv(numbers, count, MPI_FLOAT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void parsity_mpi_broadcast(float *numbers, int count) {
    MPI_Bcast(numbers, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

void parsity_mpi_sum(float *numbers, int count) {
    MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

void parsity_mpi_abort(int code) {
    MPI_Abort(MPI_COMM_WORLD, code);
}

void parsity_mpi_end(void) {
    MPI_Finalize();
}
