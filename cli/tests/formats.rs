use opentelemetry_proto::tonic::trace::v1::TracesData;
#[test]
fn x() {
    let _: TracesData = serde_json::from_str("{\"resourceSpans\":[]}").unwrap();
}
