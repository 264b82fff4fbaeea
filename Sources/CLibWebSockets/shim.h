// SPDX-License-Identifier: Apache-2.0
/* The system library libwebsockets, on which CRelay depends. */
#include <libwebsockets.h>
