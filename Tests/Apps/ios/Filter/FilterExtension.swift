// SPDX-License-Identifier: Apache-2.0
// Runs the filter when a Focus begins, changes or ends.
import AppIntents

@main struct FilterExtension: AppIntentsExtension {}
