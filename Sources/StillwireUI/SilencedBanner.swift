// SPDX-License-Identifier: Apache-2.0
// The line about members with a Focus.
#if canImport(SwiftUI)
  public import SwiftUI

  /// A line that names the members whose Focus silences notifications.
  public struct SilencedBanner: View {
    private let text: Text

    /// Shows the notice in English.
    public init(_ notice: SilencedNotice) { self.init(notice) { Text(verbatim: $0.text) } }

    /// - Parameter text: Returns the sentence in the app's language.
    public init(_ notice: SilencedNotice, text: (SilencedNotice) -> Text) { self.text = text(notice) }

    public var body: some View {
      Label {
        text
      } icon: {
        Image(systemName: PresenceLook.silenced.symbol)
      }
      .font(.footnote)
      .foregroundStyle(.secondary)
    }
  }
#endif
