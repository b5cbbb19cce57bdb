//! The lengths of documents, and the sums of the first ones.

/// The lengths, which are whole numbers, so that the order in which they are added does not matter. The sums
/// are those of a Fenwick tree (Fenwick 1994, "A New Data Structure for Cumulative Frequency Tables"): a change
/// of one length and a sum of the first ones take a number of steps that grows with the logarithm.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Lengths {
    values: Vec<f32>,
    /// At each place the sum of as many values up to there as the lowest bit of the place, counted from 1.
    sums: Vec<f64>,
}

impl Lengths {
    pub(super) fn of(values: Vec<f32>) -> Self {
        let mut lengths = Self::default();
        values.into_iter().for_each(|value| {
            lengths.push();
            lengths.set(lengths.values.len() - 1, value);
        });
        lengths
    }

    pub(super) fn into_values(self) -> Vec<f32> {
        self.values
    }

    pub(super) fn get(&self, place: usize) -> f32 {
        self.values[place]
    }

    /// Adds a length of 0 at the end.
    pub(super) fn push(&mut self) {
        let place = self.values.len() + 1;
        self.values.push(0.0);
        let first = place - lowest_bit(place);
        self.sums.push(self.first(place - 1) - self.first(first));
    }

    pub(super) fn pop(&mut self) {
        self.values.pop();
        self.sums.pop();
    }

    pub(super) fn set(&mut self, place: usize, length: f32) {
        let more = f64::from(length) - f64::from(std::mem::replace(&mut self.values[place], length));
        let mut place = place + 1;
        while let Some(sum) = self.sums.get_mut(place - 1) {
            *sum += more;
            place += lowest_bit(place);
        }
    }

    /// The sum of the first lengths.
    pub(super) fn first(&self, number: usize) -> f64 {
        let mut sum = 0.0;
        let mut place = number;
        while place > 0 {
            sum += self.sums[place - 1];
            place -= lowest_bit(place);
        }
        sum
    }
}

fn lowest_bit(number: usize) -> usize {
    number & number.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_a_list() {
        let (mut lengths, mut list) = (Lengths::default(), Vec::<f32>::new());
        for step in 0..500_usize {
            match step % 7 {
                3 => {
                    lengths.pop();
                    list.pop();
                }
                _ => {
                    lengths.push();
                    list.push(0.0);
                }
            }
            let place = step * 37 % list.len().max(1);
            if let Some(length) = list.get_mut(place) {
                *length = (step % 50) as f32;
                lengths.set(place, *length);
            }
            for number in 0..=list.len() {
                let sum: f64 = list[..number].iter().map(|length| f64::from(*length)).sum();
                assert_eq!(lengths.first(number), sum);
            }
        }
        assert_eq!(Lengths::of(list.clone()).first(list.len()), lengths.first(list.len()));
    }
}
