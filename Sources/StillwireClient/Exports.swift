// SPDX-License-Identifier: Apache-2.0

// Exports the library for extensions, and with it the names and times of the protocol. An app needs only one import.
@_exported public import StillwireExtension
