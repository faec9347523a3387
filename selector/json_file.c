/* SPDX-License-Identifier: BSD-3-Clause */
/* jansson keeps no account of where a value stood, so on the way to an error the text is gone through again, once, for
 * the line: it is known to be good JSON then, which makes that a matter of quotes and brackets. */
#include "selector/json_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/sizes.h"
#include "selector/names.h"

/* ---- where in the text ---- */

/* Behind the string whose quote is here. */
static const char *after_string(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return *at ? at + 1 : at;
}

static const char *after_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* The value of a key in the object that begins here, or the element of that number of a list, if key is NULL; NULL if
 * there is none. */
static const char *inside(const char *at, const char *key, size_t length, long number)
{
    int depth = 0;

    for (at = after_blanks(at); *at; at++) {
        if (*at == '"') {
            const char *end = after_string(at);

            if (key && depth == 1 && *after_blanks(end) == ':' && (size_t)(end - at) == length + 2 &&
                strncmp(at + 1, key, length) == 0)
                return after_blanks(after_blanks(end) + 1);
            at = end - 1;
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        if (depth == 0)
            return NULL;
        if (!key && depth == 1 && (*at == '[' || *at == ',') && number-- == 0)
            return after_blanks(at + 1);
    }
    return NULL;
}

/* The line of "nodes[1].gpus", or of what there is of it; path is empty for the whole. */
static int line_of(const char *text, const char *path)
{
    const char *at = text;
    int line = 1;

    while (at && *path) {
        const bool element = *path == '[';
        const size_t length = element ? 0 : strcspn(path, ".[");
        const char *next = inside(at, element ? NULL : path, length, element ? strtol(path + 1, NULL, 10) : 0);

        if (!next)
            break;
        at = next;
        path += element ? strcspn(path, "]") + 1 : length;
        path += *path == '.';
    }
    for (const char *c = text; c < at; c++)
        line += *c == '\n';
    return line;
}

/* The last key before a place in a text that may be anything: the value behind it is what could not be read. */
static void key_before(const char *text, size_t place, char *key, size_t size)
{
    *key = '\0';
    for (const char *at = text; *at && at < text + place;) {
        const char *end = *at == '"' ? after_string(at) : at + 1;

        if (*at == '"' && *after_blanks(end) == ':')
            tt_print_piece(key, size, at + 1, (size_t)(end - at) - 2);
        at = end;
    }
}

static bool complain(struct tt_json_file *f, int line, const char *path, const char *what)
{
    char number[16] = "";

    if (line)
        snprintf(number, sizeof number, "%d:", line);
    snprintf(f->why, f->size, "%s:%s %s%s%s", f->name, number, path, *path ? ": " : "", what);
    return false;
}

bool tt_json_wrong(struct tt_json_file *f, const char *path, const char *format, ...)
{
    char what[2 * TT_MAX_WORDS];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return complain(f, f->text && *path ? line_of(f->text, path) : 0, path, what);
}

/* ---- values ---- */

const char *tt_json_seen(const json_t *value, char *words)
{
    static const char *const kinds[] = {[JSON_OBJECT] = "an object",
                                        [JSON_ARRAY] = "a list",
                                        [JSON_TRUE] = "true",
                                        [JSON_FALSE] = "false",
                                        [JSON_NULL] = "null"};

    if (json_is_string(value))
        snprintf(words, TT_MAX_WORDS, "\"%.64s\"", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(words, TT_MAX_WORDS, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(words, TT_MAX_WORDS, "%g", json_real_value(value));
    else
        snprintf(words, TT_MAX_WORDS, "%s", kinds[json_typeof(value)]);
    return words;
}

bool tt_json_whole(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                   const struct tt_field *field)
{
    char words[TT_MAX_WORDS];

    if (!json_is_integer(value) || json_integer_value(value) < field->least || json_integer_value(value) > field->most)
        return tt_json_wrong(f, path, "wants a whole number from %d to %d, not %s", field->least, field->most,
                             tt_json_seen(value, words));
    *(int *)to = (int)json_integer_value(value);
    return true;
}

bool tt_json_number(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                    const struct tt_field *field)
{
    char words[TT_MAX_WORDS];

    (void)field;
    if (!json_is_number(value) || !(json_number_value(value) > 0))
        return tt_json_wrong(f, path, "wants a number above 0, not %s", tt_json_seen(value, words));
    *(double *)to = json_number_value(value);
    return true;
}

bool tt_json_flag(struct tt_json_file *f, const json_t *value, const char *path, void *to, const struct tt_field *field)
{
    char words[TT_MAX_WORDS];

    (void)field;
    if (!json_is_boolean(value))
        return tt_json_wrong(f, path, "wants true or false, not %s", tt_json_seen(value, words));
    *(bool *)to = json_is_true(value);
    return true;
}

bool tt_json_words(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                   const struct tt_field *field)
{
    char words[TT_MAX_WORDS];

    if (!json_is_string(value))
        return tt_json_wrong(f, path, "wants words, not %s", tt_json_seen(value, words));
    if (json_string_length(value) > (size_t)field->most)
        return tt_json_wrong(f, path, "wants at most %d letters", field->most);
    strcpy(to, json_string_value(value));
    return true;
}

bool tt_json_time(struct tt_json_file *f, const json_t *value, const char *path, void *to, const struct tt_field *field)
{
    char words[TT_MAX_WORDS];

    (void)field;
    if (!json_is_string(value) || tt_time_parse(json_string_value(value), to))
        return tt_json_wrong(f, path, "wants a time such as \"2us\" (s, ms, us, ns), not %s",
                             tt_json_seen(value, words));
    return true;
}

bool tt_json_rate(struct tt_json_file *f, const json_t *value, const char *path, void *to, const struct tt_field *field)
{
    char words[TT_MAX_WORDS];
    double rate;

    (void)field;
    if (!json_is_string(value) || tt_rate_parse(json_string_value(value), &rate))
        return tt_json_wrong(f, path, "wants a rate such as \"25GB/s\" or \"200Gbit/s\", not %s",
                             tt_json_seen(value, words));
    *(double *)to = 1 / rate;
    return true;
}

bool tt_json_choice(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                    const struct tt_field *field)
{
    const char *name = json_string_value(value);
    struct tt_names names = {0};
    char words[TT_MAX_WORDS];

    for (int i = 0; field->names[i]; i++) {
        if (name && strcmp(field->names[i], name) == 0) {
            *(int *)to = i;
            return true;
        }
        tt_names_add(&names, field->names[i]);
    }
    tt_json_seen(value, words);
    if (!name)
        name = words;
    tt_names_refuse(&names, name, strlen(name), "one of those that may be here", words, sizeof words);
    return tt_json_wrong(f, path, "%s", words);
}

/* ---- objects ---- */

/* The fields' keys, for an error: "count, sockets, cores". */
static const char *keys_of(const struct tt_field *field, char *words)
{
    size_t used = 0;

    for (words[0] = '\0'; field->key && used < TT_MAX_WORDS; field++)
        used += (size_t)snprintf(words + used, TT_MAX_WORDS - used, "%s%s", used ? ", " : "", field->key);
    return words;
}

/* The line is the key's own, the path that of the object it is in. */
static bool refuse_key(struct tt_json_file *f, const char *path, const char *key, const struct tt_field *fields)
{
    struct tt_names names = {0};
    const char *nearest;
    char words[TT_MAX_WORDS], what[2 * TT_MAX_WORDS], place[TT_MAX_WORDS];

    for (const struct tt_field *field = fields; field->key; field++)
        tt_names_add(&names, field->key);
    nearest = tt_names_nearest(&names, key, strlen(key));
    snprintf(what, sizeof what, "there is no key \"%.64s\" here; known are: %s%s%s%s", key, keys_of(fields, words),
             nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    snprintf(place, sizeof place, "%s%s%s", path, *path ? "." : "", key);
    return complain(f, line_of(f->text, place), path, what);
}

static bool known_keys(struct tt_json_file *f, const json_t *object, const char *path, const struct tt_field *fields)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        const struct tt_field *field = fields;

        while (field->key && strcmp(field->key, key) != 0)
            field++;
        if (!field->key)
            return refuse_key(f, path, key, fields);
    }
    return true;
}

bool tt_json_object(struct tt_json_file *f, const json_t *value, const char *path, void *to,
                    const struct tt_field *field)
{
    char words[TT_MAX_WORDS], below[TT_MAX_WORDS];

    if (!json_is_object(value))
        return tt_json_wrong(f, path, "wants an object with the keys %s, not %s", keys_of(field->inside, words),
                             tt_json_seen(value, below));
    if (!known_keys(f, value, path, field->inside))
        return false;
    for (const struct tt_field *in = field->inside; in->key; in++) {
        const json_t *inner = json_object_get(value, in->key);

        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", in->key);
        if (!inner && !in->optional)
            return tt_json_wrong(f, path, "the key \"%s\" is missing", in->key);
        if (inner && !in->read(f, inner, below, (char *)to + in->at, in))
            return false;
    }
    return true;
}

/* ---- files ---- */

/* Where shipped ones lie: beside this command, in the tree it was built in or installed to, then where configure said.
 */
static const char *const places[] = {"", "../", "../../", "../share/tutti/", TT_DATADIR "/tutti/"};
enum { NPLACES = sizeof places / sizeof *places };

static void place_path(int i, const char *folder, char *path)
{
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

    own[length > 0 ? length : 0] = '\0';
    if (strrchr(own, '/'))
        *strrchr(own, '/') = '\0';
    snprintf(path, PATH_MAX, "%.*s%s%s%s", places[i][0] == '/' ? 0 : PATH_MAX / 2, own, places[i][0] == '/' ? "" : "/",
             places[i], folder);
}

/* Writes the names of the shipped ones, or that there are none, and the one that was probably meant. */
static const char *shipped(const char *folder, const char *meant, char *words)
{
    struct tt_names names = {0};
    char path[PATH_MAX];
    struct dirent **found;
    const char *nearest;
    size_t used = 0;
    int n = -1;

    for (int i = 0; i < NPLACES && n < 0; i++) {
        place_path(i, folder, path);
        n = scandir(path, &found, NULL, alphasort);
    }
    snprintf(words, TT_MAX_WORDS, "none found");
    for (int i = 0; i < n; i++) {
        char *dot = strrchr(found[i]->d_name, '.');

        if (!dot || strcmp(dot, ".json") != 0 || used >= TT_MAX_WORDS)
            continue;
        *dot = '\0';
        used += (size_t)snprintf(words + used, TT_MAX_WORDS - used, "%s%s", used ? ", " : "", found[i]->d_name);
        tt_names_add(&names, found[i]->d_name);
    }
    nearest = tt_names_nearest(&names, meant, strlen(meant));
    if (nearest && used < TT_MAX_WORDS)
        snprintf(words + used, TT_MAX_WORDS - used, "; did you mean \"%s\"?", nearest);
    for (int i = 0; i < n; i++)
        free(found[i]);
    if (n >= 0)
        free(found);
    return words;
}

static FILE *open_file(struct tt_json_file *f, const char *folder)
{
    FILE *in = fopen(f->name, "r");
    char path[PATH_MAX + 128], words[TT_MAX_WORDS];
    const int error = errno;

    for (int i = 0; !in && !strchr(f->name, '/') && i < NPLACES; i++) {
        place_path(i, folder, path);
        snprintf(path + strlen(path), 128, "/%.100s.json", f->name);
        in = fopen(path, "r");
    }
    if (!in)
        tt_json_wrong(f, "", "%s; %s known by name: %s", strerror(error), folder, shipped(folder, f->name, words));
    return in;
}

/* All of it, with a 0 behind; NULL if it cannot be read. */
static char *read_all(FILE *in)
{
    char *text = NULL;
    size_t size = 0;
    FILE *copy = open_memstream(&text, &size);
    int c;

    while (copy && (c = getc(in)) != EOF)
        putc(c, copy);
    if (!copy || fclose(copy) || ferror(in)) {
        free(text);
        return NULL;
    }
    return text;
}

static bool parse(struct tt_json_file *f, size_t length)
{
    json_error_t error;
    char key[64];

    f->root = json_loadb(f->text, length, JSON_REJECT_DUPLICATES, &error);
    if (f->root)
        return true;
    key_before(f->text, (size_t)(error.position > 0 ? error.position : 0), key, sizeof key);
    snprintf(f->why, f->size, "%s:%d: %s%s%s%s", f->name, error.line, *key ? "at \"" : "", key, *key ? "\": " : "",
             error.text);
    return false;
}

bool tt_json_open(struct tt_json_file *f, const char *name, const char *folder, char *why, size_t size)
{
    FILE *in;

    *f = (struct tt_json_file){.name = name, .why = why, .size = size};
    in = open_file(f, folder);
    if (!in)
        return false;
    f->text = read_all(in);
    fclose(in);
    return f->text ? parse(f, strlen(f->text)) : tt_json_wrong(f, "", "cannot be read");
}

void tt_json_close(struct tt_json_file *f)
{
    json_decref(f->root);
    free(f->text);
}
