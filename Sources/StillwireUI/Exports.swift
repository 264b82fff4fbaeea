// SPDX-License-Identifier: Apache-2.0

// Exports the client, and the objects of Apple's frameworks, so that a view needs only one import.
@_exported public import StillwireApple
@_exported public import StillwireClient
