// SPDX-License-Identifier: Apache-2.0

// Exports the names, times and reports that the public API uses, so that an extension needs only one import.
@_exported public import RelayProtocol
