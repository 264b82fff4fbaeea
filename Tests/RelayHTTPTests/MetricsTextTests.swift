// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import Testing

@testable import RelayHTTP

/// `MetricsText`, the writer of Prometheus' text format. `EndToEnd/test_metrics.py` tests the values.
@Suite struct MetricsTextTests {
  @Test func `the buckets of a histogram are cumulative`() {
    var histogram = Histogram(bounds: [1, 2.5])
    for value in [0.5, 1, 2, 7] { histogram.observe(value) }
    var text = MetricsText()
    text.histogram("time_seconds", "How long.", histogram)
    #expect(
      text.text == """
        # HELP time_seconds How long.
        # TYPE time_seconds histogram
        time_seconds_bucket{le="1.0"} 2
        time_seconds_bucket{le="2.5"} 3
        time_seconds_bucket{le="+Inf"} 4
        time_seconds_sum 10.5
        time_seconds_count 4

        """)
  }

  @Test(arguments: CloseCode.allCases)
  func `each close code of the relay has a counter`(code: CloseCode) {
    #expect(HubStatistics.countedCloses.contains(Int(code.rawValue)))
  }

  @Test func `a family has one header, and a sample for each value`() {
    var text = MetricsText()
    text.family("closes_total", "Closes.", .counter, by: "code", [("4000", 2), ("other", 0)])
    #expect(
      text.text == """
        # HELP closes_total Closes.
        # TYPE closes_total counter
        closes_total{code="4000"} 2
        closes_total{code="other"} 0

        """)
  }
}
