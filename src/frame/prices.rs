//! What models cost: prices for each million tokens, and the costs of sums of requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ModelUsage;

/// The number of tokens to which a price applies.
const TOKENS: f64 = 1_000_000.0;
/// The price of a token in a cache that keeps it for an hour, relative to a cache that keeps it for five
/// minutes. The two prices are 2 and 1.25 times the price of a token that is not in a cache.
const HOUR: f64 = 1.6;
/// The highest price for that number of tokens. The cost of any number of tokens is then finite.
const HIGHEST: f64 = 1e9;

/// The prices of models by their names, for [`ModelUsage::model`].
///
/// In JSON; every price is optional, unknown keys are rejected:
///
/// ```json
/// {"claude-sonnet-5": {"uncachedInput": 3.0, "cacheRead": 0.3, "cacheWrite": 3.75, "output": 15.0}}
/// ```
///
/// ```
/// use callstack_core::frame::{ModelUsage, Price, Prices};
///
/// let prices = Prices::new([("small".to_owned(), Price { uncached_input: Some(2.0), ..Price::default() })]);
/// let usage = |model: &str, uncached_input| ModelUsage { model: model.into(), uncached_input, ..ModelUsage::default() };
/// assert_eq!(prices.cost(&usage("small", 500_000)), Some(1.0));
/// let total = prices.total(&[usage("small", 500_000), usage("large", 1)]);
/// assert_eq!((total.known, total.is_complete), (1.0, false));
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prices {
    models: BTreeMap<String, Price>,
}

/// The prices of one model in any currency, each for a million tokens. `None`: the price is not known.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Price {
    /// The price of prompt tokens that were neither read from a cache nor written to it.
    pub uncached_input: Option<f64>,
    /// The price of prompt tokens that were read from a cache.
    pub cache_read: Option<f64>,
    /// The price of prompt tokens that were written to a cache.
    pub cache_write: Option<f64>,
    /// The price of prompt tokens that were written to a cache that keeps them for an hour. Default: 1.6
    /// times `cacheWrite`, as Anthropic sells them.
    pub cache_write_hour: Option<f64>,
    /// The price of tokens of answers, including tokens of reasoning.
    pub output: Option<f64>,
}

/// The cost of several sums of requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TotalCost {
    /// The sum of the costs that are known, in the currency of the prices.
    pub known: f64,
    /// True if all costs are known, so that the sum is the whole cost.
    pub is_complete: bool,
}

impl Prices {
    /// Prices of models by their names.
    pub fn new(models: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self { models: models.into_iter().collect() }
    }

    /// The name of a model with a price that is not an amount of money: negative, not a number, or above
    /// 1,000,000,000. `None` if there is no such model.
    pub fn invalid(&self) -> Option<&str> {
        let is_invalid = |price: &Price| price.all().iter().flatten().any(|price| !(0.0..=HIGHEST).contains(price));
        self.models.iter().find(|(_, price)| is_invalid(price)).map(|(model, _)| model.as_str())
    }

    /// The cost of the requests to one model. `None` if the model has no prices, or no price for tokens that
    /// were used.
    pub fn cost(&self, usage: &ModelUsage) -> Option<f64> {
        let price = self.models.get(&usage.model)?;
        let hour = usage.cache_write_hour.min(usage.cache_write);
        let used = [usage.uncached_input, usage.cache_read, usage.cache_write - hour, hour, usage.answer()];
        let costs = used.iter().zip(price.all()).map(|(tokens, price)| match (tokens, price) {
            (0, _) => Some(0.0),
            (tokens, price) => price.map(|price| *tokens as f64 * price / TOKENS),
        });
        costs.sum()
    }

    /// The cost of the requests to all of these models.
    pub fn total(&self, usage: &[ModelUsage]) -> TotalCost {
        let costs: Vec<Option<f64>> = usage.iter().map(|usage| self.cost(usage)).collect();
        // The sum of no numbers is -0.0.
        let known = costs.iter().flatten().fold(0.0, |sum, cost| sum + cost);
        TotalCost { known, is_complete: costs.iter().all(Option::is_some) }
    }
}

impl Price {
    fn all(&self) -> [Option<f64>; 5] {
        let hour = self.cache_write_hour.or_else(|| Some(HOUR * self.cache_write?));
        [self.uncached_input, self.cache_read, self.cache_write, hour, self.output]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_costs_as_output_and_an_unknown_price_is_no_zero() {
        let prices = Prices::new([("m".to_owned(), Price { output: Some(10.0), ..Price::default() })]);
        let usage = ModelUsage { model: "m".into(), output: 60_000, reasoning: 40_000, ..ModelUsage::default() };
        assert_eq!(prices.cost(&usage), Some(1.0));
        assert_eq!(
            prices.cost(&ModelUsage { cache_read: 1, ..usage.clone() }),
            None,
            "the price of cacheRead is unknown"
        );
        assert_eq!(prices.cost(&ModelUsage { model: "other".into(), ..usage }), None);
        let unused = |model: &str| ModelUsage { model: model.into(), requests: 3, ..ModelUsage::default() };
        assert_eq!(
            (prices.cost(&unused("m")), prices.cost(&unused("other"))),
            (Some(0.0), None),
            "never 0 without prices"
        );
        let whole = prices.total(&[]);
        assert_eq!((whole.known, whole.is_complete), (0.0, true));
    }

    #[test]
    fn what_a_cache_keeps_for_an_hour_has_a_price_of_its_own() {
        let price = Price { cache_write: Some(3.75), ..Price::default() };
        let usage = ModelUsage {
            model: "m".into(),
            cache_write: 3_000_000,
            cache_write_hour: 1_000_000,
            ..ModelUsage::default()
        };
        let cost = |price| Prices::new([("m".to_owned(), price)]).cost(&usage);
        assert_eq!(cost(price), Some(2.0 * 3.75 + 6.0));
        assert_eq!(cost(Price { cache_write_hour: Some(7.0), ..price }), Some(2.0 * 3.75 + 7.0));
        assert_eq!(cost(Price { cache_write_hour: Some(7.0), ..Price::default() }), None, "the others have no price");
    }

    #[test]
    fn prices_that_are_no_amounts_are_found() {
        let price = |uncached_input| Price { uncached_input: Some(uncached_input), ..Price::default() };
        assert_eq!(Prices::new([("a".to_owned(), price(0.0))]).invalid(), None);
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            let prices = Prices::new([("a".to_owned(), price(1.0)), ("b".to_owned(), price(wrong))]);
            assert_eq!(prices.invalid(), Some("b"), "{wrong}");
        }
    }
}
