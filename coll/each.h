/* SPDX-License-Identifier: BSD-3-Clause */
/* How a row that names its arguments becomes a function: a file that makes functions has a macro for each kind of
 * argument, of four fields, and a function is put together from those of its arguments:
 *
 *   TT_KIND_<kind>(x)   the parameter, what is done before the call (or nothing), the argument of the call, what is
 *                       done after the call (or nothing) */
#ifndef TT_EACH_H
#define TT_EACH_H

#define TT_PARAM(a) TT_FIELD_1(TT_KIND_##a)
#define TT_BEFORE(a) TT_FIELD_2(TT_KIND_##a)
#define TT_ARG(a) TT_FIELD_3(TT_KIND_##a)
#define TT_AFTER(a) TT_FIELD_4(TT_KIND_##a)
#define TT_FIELD_1(...) TT_FIRST(__VA_ARGS__)
#define TT_FIELD_2(...) TT_SECOND(__VA_ARGS__)
#define TT_FIELD_3(...) TT_THIRD(__VA_ARGS__)
#define TT_FIELD_4(...) TT_FOURTH(__VA_ARGS__)
#define TT_FIRST(a, b, c, d) a
#define TT_SECOND(a, b, c, d) b
#define TT_THIRD(a, b, c, d) c
#define TT_FOURTH(a, b, c, d) d

/* TT_EACH(m, s, a, b) is m(a) s() m(b). Each TT_AGAIN_ lets the preprocessor look once more; there are at most 13
 * arguments. */
#define TT_EACH(m, s, ...) __VA_OPT__(TT_AGAIN_3(TT_EACH_STEP(m, s, __VA_ARGS__)))
#define TT_EACH_STEP(m, s, a, ...) m(a) __VA_OPT__(s() TT_EACH_LATER TT_PARENS(m, s, __VA_ARGS__))
#define TT_EACH_LATER() TT_EACH_STEP
#define TT_PARENS ()
#define TT_AGAIN_3(...) TT_AGAIN_2(TT_AGAIN_2(TT_AGAIN_2(__VA_ARGS__)))
#define TT_AGAIN_2(...) TT_AGAIN_1(TT_AGAIN_1(TT_AGAIN_1(__VA_ARGS__)))
#define TT_AGAIN_1(...) __VA_ARGS__
#define TT_COMMA() ,
#define TT_SEMICOLON() ;
#define TT_NOTHING()

#endif
