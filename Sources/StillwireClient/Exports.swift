// SPDX-License-Identifier: Apache-2.0

// Names, times and reports are part of what apps say and hear; one import brings all.
@_exported public import RelayProtocol
