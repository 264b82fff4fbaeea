// SPDX-License-Identifier: Apache-2.0
// The symbol of a person's presence.
#if canImport(SwiftUI)
  public import StillwireClient
  public import SwiftUI

  /// A symbol for a person's presence. The symbols differ in their shape, and not only in their colour.
  public struct PresenceDot: View {
    private let look: PresenceLook

    /// - Parameter presence: The presence. Without one the person appears as offline.
    public init(_ presence: Presence?) { look = PresenceLook(presence) }

    public var body: some View {
      Image(systemName: look.symbol)
        .imageScale(.small)
        .foregroundStyle(color)
        .accessibilityLabel(Text(verbatim: look.word))
    }

    private var color: Color {
      switch look {
      case .online: .green
      case .idle: .yellow
      case .silenced: .purple
      case .offline: .gray
      }
    }
  }
#endif
