// SPDX-License-Identifier: Apache-2.0

// Exports the values of these objects, so that an app or an extension needs only one import.
@_exported public import StillwireExtension
