// SPDX-License-Identifier: Apache-2.0
// The button of Notify Anyway.
#if canImport(SwiftUI)
  public import SwiftUI

  /// A button that notifies the members whose Focus silenced a message. It shows the progress of the request.
  public struct NotifyAnywayButton: View {
    private let offer: NotifyAnywayOffer
    private let title: Text
    private let confirmation: Text
    private let action: @MainActor @Sendable () async -> Void

    /// - Parameters:
    ///   - title: The text of the button.
    ///   - confirmation: The text after the relay has notified at least one member.
    ///   - action: Sends the request, with ``RoomModel/notifyAnyway()``.
    public init(
      _ offer: NotifyAnywayOffer, title: Text = Text(verbatim: "Notify Anyway"),
      confirmation: Text = Text(verbatim: "Notified"), action: @escaping @MainActor @Sendable () async -> Void
    ) {
      self.offer = offer
      self.title = title
      self.confirmation = confirmation
      self.action = action
    }

    public var body: some View {
      switch offer.step {
      case .offered: Button(action: { Task { await action() } }, label: { title })
      case .sending: ProgressView()
      // Nobody in the room allows it, so that the button has no effect.
      case .notified(0): Button(action: {}, label: { title }).disabled(true)
      case .notified: confirmation.foregroundStyle(.secondary)
      }
    }
  }
#endif
