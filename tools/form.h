/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms in which MPI has a collective. */
#ifndef TT_TOOLS_FORM_H
#define TT_TOOLS_FORM_H

enum tool_form { TOOL_BLOCKING, TOOL_NONBLOCKING, TOOL_PERSISTENT, TOOL_NFORMS };

#endif
