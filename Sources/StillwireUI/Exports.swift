// SPDX-License-Identifier: Apache-2.0

// Exports the client, so that an app needs only one import for a screen.
@_exported public import StillwireClient
