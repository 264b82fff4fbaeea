// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The terminal of `stillwire top`: its size, a second screen, and the key q.
struct Terminal {
  /// Is `nil` if the output is no terminal.
  init?() {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    hasKeys = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &settings) == 0
  }

  private let hasKeys: Bool
  /// The settings before ``begin()``.
  private var settings = termios()

  /// The number of lines and columns.
  var size: (height: Int, width: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return (24, 80) }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  /// Opens a second screen without a cursor. Keys arrive at once, and are not shown.
  func begin() {
    if hasKeys {
      var raw = settings
      raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
      // No key stops the program while the second screen is open.
      withUnsafeMutableBytes(of: &raw.c_cc) { keys in (keys[Int(VSUSP)], keys[Int(VQUIT)]) = (0, 0) }
      tcsetattr(STDIN_FILENO, TCSANOW, &raw)
    }
    Self.write("\u{1B}[?1049h\u{1B}[?25l")
  }

  /// Restores the screen, the cursor and the settings.
  func end() {
    Self.write("\u{1B}[?25h\u{1B}[?1049l")
    if hasKeys {
      var settings = settings
      tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
  }

  /// Replaces the screen. Each line is written over the old one, so that nothing flickers.
  func show(_ lines: [String]) {
    Self.write("\u{1B}[H" + lines.map { "\($0)\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
  }

  /// The keys, until the end of the input.
  var keys: AsyncStream<UInt8> {
    guard hasKeys else { return AsyncStream { _ in } }
    return AsyncStream { continuation in
      let reader = Thread {
        var key: UInt8 = 0
        while read(STDIN_FILENO, &key, 1) == 1 { continuation.yield(key) }
        continuation.finish()
      }
      reader.start()
    }
  }

  private static func write(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) }
}
