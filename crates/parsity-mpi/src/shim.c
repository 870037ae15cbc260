/* What is needed of MPI, as plain C functions: the types of MPI differ between its
   implementations, those of these functions do not. Communicators and requests travel as the
   integers that MPI has for Fortran. Errors end all processes, which is what MPI does unless
   told otherwise. */

#include <mpi.h>
#include <stdlib.h>

/* What is posted has a tag of its own, so that it is never taken for something else. */
enum { SENT = 0, POSTED = 1 };

/* Whether as many threads may talk as was asked for. */
int parsity_mpi_start(int several_talk, int *rank, int *size, int *comm) {
    int wanted = several_talk ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, provided;
    MPI_Init_thread(0, 0, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    *comm = MPI_Comm_c2f(MPI_COMM_WORLD);
    return provided >= wanted;
}

void parsity_mpi_split(int comm, int group, int *rank, int *size, int *part) {
    MPI_Comm made;
    MPI_Comm_split(MPI_Comm_f2c(comm), group, 0, &made);
    MPI_Comm_rank(made, rank);
    MPI_Comm_size(made, size);
    *part = MPI_Comm_c2f(made);
}

void parsity_mpi_send(int comm, const float *numbers, int count, int to) {
    MPI_Send(numbers, count, MPI_FLOAT, to, SENT, MPI_Comm_f2c(comm));
}

void parsity_mpi_receive(int comm, float *numbers, int count, int from) {
    MPI_Recv(numbers, count, MPI_FLOAT, from, SENT, MPI_Comm_f2c(comm), MPI_STATUS_IGNORE);
}

/* Starts to send; the numbers must stay where they are until parsity_mpi_is_sent says so. */
int parsity_mpi_post(int comm, const float *numbers, int count, int to) {
    MPI_Request request;
    MPI_Isend(numbers, count, MPI_FLOAT, to, POSTED, MPI_Comm_f2c(comm), &request);
    return MPI_Request_c2f(request);
}

int parsity_mpi_is_sent(int *posted) {
    MPI_Request request = MPI_Request_f2c(*posted);
    int done;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    *posted = MPI_Request_c2f(request);
    return done;
}

/* The length of what was posted to us, and by whom; -1 if there is nothing yet. */
int parsity_mpi_poll(int comm, int *from) {
    MPI_Status status;
    int found, count;
    MPI_Iprobe(MPI_ANY_SOURCE, POSTED, MPI_Comm_f2c(comm), &found, &status);
    if (!found)
        return -1;
    *from = status.MPI_SOURCE;
    MPI_Get_count(&status, MPI_FLOAT, &count);
    return count;
}

void parsity_mpi_take(int comm, float *numbers, int count, int from) {
    MPI_Recv(numbers, count, MPI_FLOAT, from, POSTED, MPI_Comm_f2c(comm), MPI_STATUS_IGNORE);
}

void parsity_mpi_broadcast(int comm, float *numbers, int count) {
    MPI_Bcast(numbers, count, MPI_FLOAT, 0, MPI_Comm_f2c(comm));
}

void parsity_mpi_sum(int comm, float *numbers, int count) {
    MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_FLOAT, MPI_SUM, MPI_Comm_f2c(comm));
}

void parsity_mpi_abort(int code) {
    MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}

void parsity_mpi_end(void) {
    MPI_Finalize();
}
