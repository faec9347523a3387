/* SPDX-License-Identifier: BSD-3-Clause */
/* record.def as tables, for who writes and who reads. */
#include "coll/record_format.h"

#include <stddef.h>

#define FIELD(section, of, type, name)                                                                                 \
    {section, #name, #type, offsetof(struct of, name), sizeof(((struct of *)0)->name)},

const struct tt_record_field tt_record_fields[] = {
#define TT_HEAD(type, name, meaning) FIELD("head", tt_record_head, type, name)
#define TT_COMM(type, name, meaning) FIELD("comm", tt_record_comm, type, name)
#define TT_MODULE(type, name, meaning) FIELD("module", tt_record_module, type, name)
#define TT_NAME(type, name, meaning) FIELD("name", tt_record_name, type, name)
#define TT_FAULT(type, name, meaning) FIELD("fault", tt_record_fault, type, name)
#define TT_SPOT(type, name, meaning) FIELD("spot", tt_record_spot, type, name)
#define TT_LINE(type, name, meaning) FIELD("line", tt_record_line, type, name)
#include "coll/record.def"
    {0}};

const struct tt_record_kind tt_record_kinds[] = {
    [TT_RECORD_HEAD] = {"head", sizeof(struct tt_record_head), 1},
    [TT_RECORD_COMM] = {"comm", sizeof(struct tt_record_comm), TT_RECORD_COMMS},
    [TT_RECORD_MODULE] = {"module", sizeof(struct tt_record_module), TT_RECORD_MODULES},
    [TT_RECORD_NAME] = {"name", sizeof(struct tt_record_name), TT_RECORD_NAMES},
    [TT_RECORD_FAULT] = {"fault", sizeof(struct tt_record_fault), TT_RECORD_FAULTS},
    [TT_RECORD_SPOT] = {"spot", sizeof(struct tt_record_spot), TT_RECORD_SPOTS},
    [TT_RECORD_LINE] = {"line", sizeof(struct tt_record_line), TT_RECORD_LINES},
    [TT_RECORD_NKINDS] = {0}};
