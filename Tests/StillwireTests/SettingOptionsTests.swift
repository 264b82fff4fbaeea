// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayServer
import Testing

@testable import stillwire

/// The options of `stillwire serve`, which follow from the declarations of the settings.
@Suite struct SettingOptionsTests {
  private static let settings = SettingGroup.all.flatMap(\.settings).filter { $0.option != nil }

  @Test(arguments: settings.map(\.name))
  func `an option sets its setting, and no other`(name: String) throws {
    let setting = try #require(Self.settings.first { $0.name == name })
    let option = "--" + (setting.option ?? "")
    let command = try #require(try Serve.parseAsRoot(setting.isSwitch ? [option] : [option, "text"]) as? Serve)
    #expect(command.given == [name: setting.isSwitch ? "true" : "text"])
  }

  @Test func `without options the command line sets nothing`() throws {
    #expect(try #require(try Serve.parseAsRoot([]) as? Serve).given.isEmpty)
  }

  @Test func `help lists the option of each setting with its meaning, and no other options`() {
    let help = Serve.helpMessage(columns: 10_000)
    let options = help.matches(of: /\n +(?:-h, )?(--[a-z-]+)/).map { String($0.1) }
    #expect(options == Self.settings.map { "--" + ($0.option ?? "") } + ["--check", "--help"])
    for setting in Self.settings { #expect(help.contains(setting.help)) }
  }

  @Test func `a setting that only a file can contain has no option`() {
    #expect(!Self.settings.contains { ["rooms", "apps", "texts"].contains($0.name) })
  }
}
