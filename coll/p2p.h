/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point calls: what the user asked, as one struct for all of them, and what becomes of their buffers. */
#ifndef TT_P2P_H
#define TT_P2P_H

#include <mpi.h>
#include <stdbool.h>

#include "coll/image.h"

enum tt_p2p_id {
#define TT_P2P(id, Name, traits, params, fill, args) TT_P2P_##id,
#include "coll/p2p.def"
#undef TT_P2P
    TT_NP2P
};

enum tt_p2p_trait {
    TT_SENDS = 1 << 0,
    TT_RECEIVES = 1 << 1,
    TT_REPLACES = 1 << 2, /* what it receives takes the place of what it sends */
    TT_IS_LOCAL = 1 << 3  /* the blocking form waits for nobody */
};

enum tt_p2p_form { TT_FORM_CALL, TT_FORM_START, TT_FORM_INIT };

struct tt_p2p_end {
    void *buf;
    MPI_Count count;
    MPI_Datatype type;
    int peer, tag;
};

/* Never modified. */
struct tt_p2p {
    enum tt_p2p_id id;
    bool wide; /* the call came through the _c twin */
    struct tt_p2p_end send, recv;
    MPI_Message *message;
    MPI_Comm comm;
    const void *caller; /* where it returns to */
};

/* ---- the rows ---- */

struct tt_p2p_native {
    int (*call)(const struct tt_p2p *c, MPI_Status *status);
    int (*start)(const struct tt_p2p *c, MPI_Request *request);
    int (*init)(const struct tt_p2p *c, MPI_Request *request);
};

struct tt_p2p_row {
    const char *id, *name; /* "send", "Send" */
    unsigned traits;
    struct tt_p2p_native native; /* PMPI_Send, PMPI_Isend, PMPI_Send_init; NULL where there is no such form */
};
extern const struct tt_p2p_row tt_p2p_rows[TT_NP2P];

/* Their large-count twins, and what else only an MPI-4 has; NULL where the MPI has none. */
extern const struct tt_p2p_native tt_p2p_wide[TT_NP2P];

/* The MPI below carries it out as it stands, in each form. Returns its error code. */
int tt_p2p_native_call(const struct tt_p2p *c, MPI_Status *status);
int tt_p2p_native_start(const struct tt_p2p *c, MPI_Request *request);
int tt_p2p_native_init(const struct tt_p2p *c, MPI_Request *request);

/* What the wrappers do. An MPI error code, after the communicator's error handler has seen it. */
int tt_p2p_call(const struct tt_p2p *c, MPI_Status *status);
int tt_p2p_start(const struct tt_p2p *c, MPI_Request *request);
int tt_p2p_init(const struct tt_p2p *c, MPI_Request *request);

/* ---- cargo: a call on images of its device memory ---- */

struct tt_cargo {
    const struct tt_p2p_row *row;
    enum tt_p2p_form form;
    struct tt_p2p with;         /* the call, on images where there are such */
    struct tt_image send, recv; /* of those ends that are on a device */
};

enum tt_route {
    TT_CARGO_STRAIGHT, /* nothing of the call is to be staged */
    TT_CARGO_STAGED,   /* with is the call to make; tt_cargo_end is due */
    TT_CARGO_REFUSED   /* an error has been raised */
};

/* Looks where the ends are, and provides images for what the MPI below cannot take. What a blocking or nonblocking call
 * sends is copied down before it returns, so that messages leave in the order of the calls. error: of TT_CARGO_REFUSED.
 */
enum tt_route tt_cargo_load(struct tt_cargo *g, const struct tt_p2p *c, enum tt_p2p_form form, int *error);

/* What is sent, down to its image. NULL, or why not. */
const char *tt_cargo_fill(struct tt_cargo *g);

/* What was received, up from its image: as much as the status says has arrived. error: what the MPI below returned with
 * the status. NULL, or why not. */
const char *tt_cargo_unload(const struct tt_cargo *g, const MPI_Status *status, int error);

void tt_cargo_end(struct tt_cargo *g);

/* Raises an error of Tutti's: "Tutti: rank 2: MPI_Isend: why". Returns its code. The second ends the cargo before. */
int tt_cargo_raise(const struct tt_cargo *g, const char *why);
int tt_cargo_fail(struct tt_cargo *g, const char *why);

#endif
