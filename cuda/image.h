/* SPDX-License-Identifier: BSD-3-Clause */
/* The device kernels as nvcc built them, in this library: written by embed.sh. */
#ifndef TT_CUDA_IMAGE_H
#define TT_CUDA_IMAGE_H

#include <stddef.h>

extern const unsigned char tt_image[];
extern const size_t tt_image_size; /* 0: built without nvcc, and tt_image says nothing */

#endif
