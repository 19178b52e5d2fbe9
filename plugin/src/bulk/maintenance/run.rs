//! A run that repairs differences, and stops if another one begins.

use crate::error::Error;
use crate::model::value::Value;
use crate::sql::{self, Statement};
use crate::store::{self, Store};

/// How many differences one transaction repairs at most.
pub(super) const CHUNK: usize = 100;

/// The number of a run.
#[derive(Clone, Copy)]
pub(super) struct Run(i64);

impl Run {
    pub(super) async fn begin(store: &Store) -> Result<Self, Error> {
        let run = fastrand::i64(1..i64::MAX);
        let begin = Statement { text: sql::kept::begin_run(), binds: vec![Value::Int(run)] };
        store::retry(|| store.write([begin.clone()])).await?;
        Ok(Self(run))
    }

    /// Runs statements in one transaction, unless another run has begun.
    pub(super) async fn write(self, store: &Store, statements: &[Statement]) -> Result<(), Error> {
        if statements.is_empty() {
            return Ok(());
        }
        store::retry(|| async {
            let mut transaction = store.begin().await?;
            let text = sql::kept::continue_run();
            let go_on = Statement { text, binds: vec![Value::Int(self.0)] };
            if transaction.change(go_on).await? == 0 {
                return Err(Error::Superseded);
            }
            for statement in statements {
                transaction.execute(statement.clone()).await?;
            }
            transaction.commit().await
        })
        .await
    }
}
