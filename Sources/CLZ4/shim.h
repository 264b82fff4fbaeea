// SPDX-License-Identifier: Apache-2.0
/* The system library LZ4, with which RelayNATS compresses large records. */
#include <lz4.h>
