// SPDX-License-Identifier: Apache-2.0
/* The system library cnats (Debian's libnats-dev), with which RelayNATS talks to JetStream. */
#include <nats/nats.h>
