// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@Suite struct TimeOfDayTests {
  @Test func `every minute of a day is written and read`() throws {
    for minutes in 0..<1_440 {
      let time = try #require(TimeOfDay(minutes: minutes))
      #expect(time.minutes == minutes)
      #expect(TimeOfDay(time.description) == time)
      #expect(time.description.utf8.count == 5)
    }
  }

  @Test(arguments: [("00:00", 0), ("00:09", 9), ("07:30", 450), ("19:05", 1_145), ("23:59", 1_439)])
  func `a text of hours and minutes is parsed`(text: String, minutes: Int) {
    #expect(TimeOfDay(text)?.minutes == minutes)
  }

  @Test(arguments: [
    "", "0:00", "00:0", "24:00", "00:60", "99:99", "7:300", "07.30", "07:30 ", " 7:30", "+7:30", "-1:00", "07:3a",
    "0700", "07:30:00", "٠٧:٣٠", "07：30", "/0:00", "0::00",
  ])
  func `any other text is rejected`(text: String) {
    #expect(TimeOfDay(text) == nil)
  }

  @Test(arguments: [-1, 1_440, Int.min, Int.max])
  func `minutes outside a day are rejected`(minutes: Int) {
    #expect(TimeOfDay(minutes: minutes) == nil)
  }

  @Test func `an earlier time is less`() throws {
    #expect(try #require(TimeOfDay("07:30")) < #require(TimeOfDay("07:31")))
  }

  @Test func `its JSON form is its text`() throws {
    #expect(try coded([TimeOfDay("07:30")]) == #"["07:30"]"#)
    #expect(try decoded(#"["07:30"]"#) == [TimeOfDay("07:30")])
    #expect(throws: DecodingError.self) { try decoded(#"["7:30"]"#, [TimeOfDay].self) }
  }
}
