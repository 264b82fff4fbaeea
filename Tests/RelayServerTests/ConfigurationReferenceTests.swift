// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import RelayServer

/// The generated reference page, which is stored in `deploy`.
@Suite struct ConfigurationReferenceTests {
  @Test func `the reference page in deploy matches the declarations`() throws {
    let checkout = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let page = try String(contentsOf: checkout.appending(path: "deploy/configuration.md"), encoding: .utf8)
    let isCurrent = page == ConfigurationReference.page
    #expect(isCurrent, "renew the page: .build/debug/stillwire reference > deploy/configuration.md")
  }

  @Test func `the page contains every key, option and variable`() {
    let page = ConfigurationReference.page
    for setting in Setting.all {
      #expect(!setting.isInFile || page.contains("| `\(setting.key)` |"))
      if let option = setting.option { #expect(page.contains("| `--\(option)` |")) }
      for variable in setting.variables { #expect(page.contains("`\(variable)`")) }
    }
  }
}
