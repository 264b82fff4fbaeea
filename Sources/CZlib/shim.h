// SPDX-License-Identifier: Apache-2.0
/* The system library zlib, with which RelayHTTP compresses answers. */
#include <zlib.h>
