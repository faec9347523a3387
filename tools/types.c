/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of types.def and ops.def as words. */
#include "tools/types.h"

#include <string.h>

#include "cuda/ops.h"

static const struct {
    const char *id, *c_name;
    bool padded;
} types[] = {
#define TT_TYPE(id, ctype, acc, convert, domain, payload, ...) {#id, #ctype, (payload) < sizeof(ctype)},
#include "cuda/types.def"
#undef TT_TYPE
};

static const char *const ops[] = {
#define TT_OPERATION(id, ...) #id,
#include "cuda/ops.def"
#undef TT_OPERATION
};

/* Names that C or people have for a row besides its own. */
static const struct {
    const char *name, *id;
} everyday[] = {{"int", "i32"},       {"long", "i64"}, {"half", "f16"},
                {"bfloat16", "bf16"}, {"fp16", "f16"}, {"fp32", "f32"}};

enum tt_type tool_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof everyday / sizeof *everyday; i++)
        if (strcmp(everyday[i].name, name) == 0)
            name = everyday[i].id;
    for (int i = 0; i < TT_NTYPES; i++)
        if (strcmp(types[i].id, name) == 0)
            return (enum tt_type)i;
    for (int i = 0; i < TT_NTYPES; i++)
        if (strcmp(types[i].c_name, name) == 0)
            return (enum tt_type)i;
    return TT_NTYPES;
}

enum tt_op tool_op_find(const char *name)
{
    for (int i = 0; i < TT_NOPS; i++)
        if (strcmp(ops[i], name) == 0)
            return (enum tt_op)i;
    return TT_NOPS;
}

bool tool_type_padded(enum tt_type type)
{
    return types[type].padded;
}

void tool_print_types(FILE *out)
{
    for (size_t i = 0; i < sizeof everyday / sizeof *everyday; i++)
        fprintf(out, "%s, ", everyday[i].name);
    fputs("float, double", out);
    for (int i = 0; i < TT_NTYPES; i++)
        fprintf(out, ", %s", types[i].id);
}

void tool_print_ops(FILE *out)
{
    for (int i = 0; i < TT_NOPS; i++)
        fprintf(out, "%s%s", i ? ", " : "", ops[i]);
}
