// SPDX-License-Identifier: Apache-2.0
// Gives Node before 22 the global WebSocket that later versions have: the class of Debian's package node-ws.
globalThis.WebSocket ??= require('/usr/share/nodejs/ws')
