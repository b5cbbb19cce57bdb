//! The macro that generates the chainable setters of option structs. The structs can get more fields in later
//! versions.

/// Generates a setter for each listed field. Must be called inside an `impl` of the struct.
macro_rules! setters {
    ($($field:ident: $type:ty),* $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
            #[must_use]
            pub fn $field(mut self, $field: $type) -> Self {
                self.$field = $field;
                self
            }
        )*
    };
}
