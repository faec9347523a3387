/* SPDX-License-Identifier: BSD-3-Clause */
/* The module's one export. */
#include "selector/module.h"

__attribute__((visibility("default")))
const struct tt_module TT_MODULE_SYMBOL = {.read = tt_topo_read, .look = tt_machine_look};
