// SPDX-License-Identifier: Apache-2.0
// The switch with which a person shares the Focus.
#if canImport(SwiftUI)
  public import SwiftUI

  /// A switch that shares the person's Focus with the people in their rooms.
  @available(iOS 17, macOS 14, tvOS 17, visionOS 1, watchOS 10, *)
  public struct ShareFocusToggle: View {
    @Bindable private var sharing: FocusSharing
    private let title: Text

    /// - Parameter title: The text of the switch.
    public init(_ sharing: FocusSharing, title: Text = Text(verbatim: "Share Focus Status")) {
      _sharing = Bindable(wrappedValue: sharing)
      self.title = title
    }

    public var body: some View {
      Toggle(isOn: $sharing.isOn) { title }
        .disabled(!sharing.choice.isKnown)
        .task { await sharing.load() }
    }
  }
#endif
