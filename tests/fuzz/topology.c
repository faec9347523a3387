/* SPDX-License-Identifier: BSD-3-Clause */
/* Topology files. What is refused is refused in words; what is read is a picture whose parts fit each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "selector/topo.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "{\"about\": \"two\", \"nodes\": [{\"count\": 2, \"sockets\": 2, \"cores\": 8, \"gpus\": 4, \"nics\": 2, "
    "\"links\": "
    "\"nvlink\", \"ranks\": 4}], \"place\": \"block\", \"speeds\": {\"gpu\": {\"alpha\": \"2us\", \"bandwidth\": "
    "\"1500GB/s\"}, \"link\": {\"alpha\": \"3us\", \"bandwidth\": \"400GB/s\"}, \"host\": {\"alpha\": \"5us\", "
    "\"bandwidth\": \"50GB/s\"}, \"nic\": {\"alpha\": \"6us\", \"bandwidth\": \"400Gbit/s\"}, \"reduce\": \"1TB/s\", "
    "\"copy\": \"1.5TB/s\", \"launch\": \"3us\", \"overhead\": \"0.5us\"}}",
    "{\"nodes\": [{\"ranks\": 3}, {\"ranks\": 1, \"count\": 2}], \"place\": [0, 1, 0, 2], \"speeds\": {\"host\": "
    "{\"alpha\": "
    "\"1us\", \"bandwidth\": \"10GB/s\", \"shared\": true}, \"nic\": {\"alpha\": \"2us\", \"bandwidth\": \"1GB/s\"}}}",
    NULL};
const char *const fuzz_words[] = {"\"about\": ",
                                  "\"nodes\": ",
                                  "\"count\": ",
                                  "\"sockets\": ",
                                  "\"cores\": ",
                                  "\"gpus\": ",
                                  "\"nics\": ",
                                  "\"links\": ",
                                  "\"ranks\": ",
                                  "\"place\": ",
                                  "\"speeds\": ",
                                  "\"gpu\": ",
                                  "\"link\": ",
                                  "\"host\": ",
                                  "\"nic\": ",
                                  "\"alpha\": ",
                                  "\"bandwidth\": ",
                                  "\"shared\": ",
                                  "\"reduce\": ",
                                  "\"measured\": ",
                                  "\"nvlink\"",
                                  "\"pcie\"",
                                  "\"block\"",
                                  "\"round-robin\"",
                                  "\"5us\"",
                                  "\"50GB/s\"",
                                  "\"400Gbit/s\"",
                                  "\"1e400s\"",
                                  "\"-1us\"",
                                  "0",
                                  "1",
                                  "-1",
                                  "65536",
                                  "2147483648",
                                  "1e99",
                                  "true",
                                  "null",
                                  "{",
                                  "}",
                                  "[",
                                  "]",
                                  ",",
                                  "[0, 1, 0]",
                                  "\\u0000",
                                  NULL};

static void look(const struct tt_topo *t)
{
    int ranks = 0;

    fuzz_check(t->size > 0 && t->nodes.n > 0 && t->nodes.n <= t->size, "ranks and nodes do not fit");
    for (int i = 0; i < t->nodes.n; i++)
        ranks += t->nodes.first[i + 1] - t->nodes.first[i];
    fuzz_check(ranks == t->size, "nodes do not have all ranks");
    for (int r = 0; r < t->size; r++) {
        const struct tt_seat *s = &t->seats[r];
        const struct tt_node_kind *kind = &t->kinds[s->node];

        fuzz_check(s->node >= 0 && s->node < t->nodes.n && s->node == t->nodes.of[r], "a rank is on no node");
        fuzz_check(s->gpu < kind->gpus || s->gpu < 0, "a rank has a GPU that its node has not");
        fuzz_check(s->nic < kind->nics || s->nic < 0, "a rank has a NIC that its node has not");
    }
    for (int level = 0; level < TT_NLEVELS; level++)
        fuzz_check(t->speed[level].alpha >= 0 && t->speed[level].beta >= 0, "a speed is negative, or no number");
    fuzz_check(tt_topo_slowest(t) < TT_NLEVELS, "there is no such level");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("topology", MFD_CLOEXEC);
    char name[64], why[1024] = "";
    struct tt_topo *t = NULL;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        exit(1);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (tt_topo_read(name, 0, 0, NULL, &t, why, sizeof why) == 0)
        look(t);
    else
        fuzz_check(why[0] && !t, "a refusal without words");
    tt_topo_free(t);
    close(fd);
    return 0;
}
