//! Some lines of a file in one transaction: what they refer to is looked up for all of them at once, and then each
//! is written by the same code as a single request. A line that is refused is undone alone.

use std::collections::{HashMap, HashSet};

use super::header::renamed;
use super::known::{Known, unknown};
use super::names::{Names, Resolved};
use super::parts::PresentParts;
use super::reader::Line;
use super::report::{Became, Outcome};
use super::undone::{Compared, Made, Undone, content_of};
use crate::error::{Error, Fault, FaultKind, Source};
use crate::model::question::Check;
use crate::model::record::Record;
use crate::model::resource::{PartOf, Resource, Unique};
use crate::model::table::Naming;
use crate::model::value::{Kind, fold};
use crate::service::crud;
use crate::service::hooks::Service;
use crate::service::write::Write;
use crate::sql::{self, Found};
use crate::wire::answer;
use crate::wire::body::{Body, LineMember};
use crate::wire::draft::{Draft, Intent};
use crate::wire::importing::{Import, Key, Mode};
use crate::wire::literal;

/// The members of a line, with their names resolved.
#[derive(Default)]
struct Prepared {
    members: Vec<LineMember>,
    faults: Vec<Fault>,
    /// Whether it names a record of its own type that there is not, or not yet.
    awaits_own: bool,
    /// Whether it names one that there is.
    names_own: bool,
    /// Whether it needs a record that the dry run has undone.
    needs_undone: bool,
    /// A digest of what it has, in a dry run.
    content: u64,
    /// What its record is known by.
    key: Option<Known>,
}

/// Lines that are written together.
pub(super) struct Batch<'i> {
    import: &'i Import,
    service: &'static Service,
    lines: Vec<Prepared>,
    /// The records by what they are known by.
    found: HashMap<Compared, i64>,
    /// Those that exist, as they were before.
    records: HashMap<i64, Record>,
    /// Whether a line has changed other records than its own, and so perhaps what they are called.
    has_spread: bool,
    parts: PresentParts,
    /// The host's users that do not exist.
    strangers: &'i HashSet<i64>,
    /// What a dry run has written and undone.
    undone: &'i Undone,
    /// What these lines have since left of records among that.
    latest: HashMap<Compared, u64>,
    /// Whether the latest line needs some of that.
    is_of_undone: bool,
    /// Whether somebody else may have created the record of the latest line since it was looked for.
    may_be_there: bool,
    /// Whether each line is undone alone if it is refused after it has written something. Where lines are written
    /// together, all of them are then written again, each alone.
    alone: bool,
}

impl<'i> Batch<'i> {
    /// Looks up what lines refer to, and locks their records.
    pub(super) async fn prepare(
        (import, service): (&'i Import, &'static Service),
        lines: &[Line],
        (strangers, undone): (&'i HashSet<i64>, &'i Undone),
        alone: bool,
        write: &mut Write<'_>,
    ) -> Result<Self, Error> {
        let registry = write.call.shop.registry;
        let names =
            Names::look_up(import.resource, lines, registry, &mut write.transaction).await?;
        let lines: Vec<Prepared> =
            lines.iter().map(|line| prepared(line, import, &names, undone)).collect();
        let mut batch = Self {
            import,
            service,
            lines,
            found: HashMap::new(),
            records: HashMap::new(),
            has_spread: false,
            parts: PresentParts::of(import.resource),
            strangers,
            undone,
            latest: HashMap::new(),
            is_of_undone: false,
            may_be_there: false,
            alone,
        };
        batch.find(write).await?;
        write.taken = import.dry_run.then(|| undone.taken());
        if !alone {
            let checks = batch.checks(write)?;
            let new = batch.lines.len().saturating_sub(batch.found.len());
            write.prepare(checks, new).await?;
        }
        Ok(batch)
    }

    /// The checks of all lines, as far as they follow from the lines alone.
    fn checks(&self, write: &Write<'_>) -> Result<Vec<Check>, Error> {
        let (resource, registry) = (self.import.resource, write.call.shop.registry);
        let mut checks = Vec::new();
        for line in self.lines.iter().filter(|line| line.faults.is_empty()) {
            let found = line.key.as_ref().and_then(|key| self.found.get(&key.compared));
            let before = found.and_then(|found| self.records.get(found));
            let intent = if before.is_some() { Intent::Update } else { Intent::Create };
            let mut draft = Draft::read(resource, &Body::of_line(&line.members), intent);
            let after = match before {
                Some(before) => {
                    draft.retain_changes(before);
                    draft.applied_to(before)
                }
                None => draft.as_record(),
            };
            checks.extend(draft.checks(&after, registry)?);
            for child in &draft.children {
                checks.extend(child.checks(&child.as_record(), registry)?);
            }
        }
        Ok(checks)
    }

    /// Finds the records of all lines.
    async fn find(&mut self, write: &mut Write<'_>) -> Result<(), Error> {
        if self.import.mode == Mode::Create {
            return Ok(());
        }
        let resource = self.import.resource;
        let mut wanted: Vec<&Known> =
            self.lines.iter().filter_map(|line| line.key.as_ref()).collect();
        wanted.sort_unstable_by(|one, other| one.compared.cmp(&other.compared));
        wanted.dedup_by(|one, other| one.compared == other.compared);
        let mut keys: Vec<i64> = Vec::with_capacity(wanted.len());
        let mut texts = Vec::new();
        for known in wanted {
            match (&known.compared, self.import.key) {
                (Compared::Id(key), _) => keys.push(*key),
                (Compared::Text(_), Key::Unique { field, .. }) if resource.is_folded(field) => {
                    texts.push(fold(&known.shown));
                }
                (Compared::Text(_), _) => texts.push(known.shown.clone()),
            }
        }
        let by_id = !keys.is_empty();
        if let Key::Unique { field, .. } = self.import.key
            && !texts.is_empty()
        {
            let wanted = sql::find_by(resource, field, texts, None, write.transaction.dialect());
            for Found { key, text, .. } in write.transaction.rows(wanted).await? {
                self.found.insert(Compared::Text(self.import.key.folded(&text)), key);
                keys.push(key);
            }
        }
        if keys.is_empty() {
            return Ok(());
        }
        keys.sort_unstable();
        keys.dedup();
        if let Some(PartOf { whole, by }) = resource.part_of
            && write.transaction.dialect().locks.is_some()
        {
            // A write of the whole locks it before its parts, so this must too.
            let parts = write.records(resource, keys.clone()).await?;
            let wholes = parts.values().map(|part| part.need(by));
            let mut wholes = wholes.collect::<Result<Vec<i64>, Error>>()?;
            wholes.sort_unstable();
            wholes.dedup();
            write.transaction.lock_all(whole, &wholes).await?;
        }
        write.transaction.lock_all(resource, &keys).await?;
        self.records = write.records(resource, keys).await?;
        if by_id {
            self.found.extend(self.records.keys().map(|key| (Compared::Id(*key), *key)));
        }
        let with_parts = self.lines.iter().filter(|line| self.parts.are_in(&line.members));
        let known = with_parts.filter_map(|line| self.found.get(&line.key.as_ref()?.compared));
        let wholes: Vec<i64> = known.copied().collect();
        self.parts.read(wholes, write).await
    }

    /// Whether a line names a record that an earlier one of the same transaction may have made or renamed, so that it
    /// has to be looked up again.
    pub(super) fn awaits(&self, position: usize) -> bool {
        let line = self.lines.get(position);
        line.is_some_and(|line| line.awaits_own || (self.has_spread && line.names_own))
    }

    /// Whether the latest line has failed because somebody else may have created its record since it was looked for,
    /// so that it has to be looked for again.
    pub(super) fn has_been_overtaken(&self) -> bool {
        self.may_be_there
    }

    /// Writes a line, by its position. Whatever was wrong with it is its outcome.
    ///
    /// # Errors
    /// When all lines have to be written again, or the database fails.
    pub(super) async fn write(
        &mut self,
        position: usize,
        line: &Line,
        write: &mut Write<'_>,
    ) -> Result<Outcome, Error> {
        (self.may_be_there, self.is_of_undone) = (false, false);
        let (key, result) = match self.lines.get_mut(position) {
            Some(prepared) => {
                let (content, needs_undone) = (prepared.content, prepared.needs_undone);
                let members = std::mem::take(&mut prepared.members);
                let faults = std::mem::take(&mut prepared.faults);
                let key = prepared.key.clone();
                self.is_of_undone = needs_undone;
                (key.clone(), self.apply((members, faults, key), content, write).await?)
            }
            None => (None, Err(Vec::new())),
        };
        if let (Some(key), Ok((Became::Created | Became::Updated, _))) = (&key, &result)
            && self.undone.content(&key.compared).is_some()
        {
            let content = self.lines.get(position).map_or(0, |line| line.content);
            self.latest.insert(key.compared.clone(), content);
        }
        let shown = key.map(|key| key.shown);
        let undone = self.is_of_undone;
        let outcome = |result, id, errors| Outcome {
            line: line.number,
            key: shown,
            result,
            id,
            version: None,
            undone,
            errors,
        };
        Ok(match result {
            Ok((result, id)) => outcome(result, id, serde_json::Value::Null),
            Err(faults) => outcome(Became::Failed, None, answer::members(faults)),
        })
    }

    async fn apply(
        &mut self,
        (members, mut faults, key): (Vec<LineMember>, Vec<Fault>, Option<Known>),
        content: u64,
        write: &mut Write<'_>,
    ) -> Result<Result<(Became, Option<i64>), Vec<Fault>>, Error> {
        let resource = self.import.resource;
        let is_found = key.as_ref().and_then(|key| self.found.get(&key.compared)).copied();
        let earlier = key.as_ref().and_then(|key| self.left(&key.compared));
        let name = self.import.key.name(resource);
        match (self.import.mode, is_found, &key) {
            // A line that cannot be read has no key either.
            (_, _, None) if !faults.is_empty() && members.is_empty() => Ok(Err(faults)),
            (Mode::Upsert | Mode::Update, _, None) => {
                faults.push(unknown(&members, self.import));
                Ok(Err(faults))
            }
            // An earlier line, which the dry run has undone, leaves the record as this one does.
            (Mode::Upsert | Mode::Update, _, _) if earlier == Some(content) => {
                Ok(Ok((Became::Unchanged, is_found)))
            }
            (Mode::Upsert | Mode::Update, Some(found), _) => {
                let changed = self.change(found, (members, faults), write).await?;
                // It differs from what the earlier line has left.
                let is_as_before = matches!(changed, Ok((Became::Unchanged, _)));
                if earlier.is_some() && is_as_before {
                    self.is_of_undone = true;
                    return Ok(Ok((Became::Updated, Some(found))));
                }
                Ok(changed)
            }
            (Mode::Upsert, None, _) if earlier.is_some() => {
                self.change_undone((&members, faults), write).await
            }
            (Mode::Update, None, Some(Known { shown, compared })) => {
                let by_id = matches!(compared, Compared::Id(_));
                let name = if by_id { resource.key } else { name };
                faults.push(missing(resource, name, shown, ""));
                Ok(Err(faults))
            }
            (Mode::Upsert, None, Some(Known { shown, compared: Compared::Id(_) })) => {
                let name = resource.key;
                let hint = " The store gives ids to new records: create them with mode=create.";
                faults.push(missing(resource, name, shown, hint));
                Ok(Err(faults))
            }
            (Mode::Upsert | Mode::Create, ..) => self.insert(key, (&members, faults), write).await,
        }
    }

    /// The content of the latest line about a record that a dry run has written and undone.
    fn left(&self, known: &Compared) -> Option<u64> {
        let undone = self.undone.content(known)?;
        Some(self.latest.get(known).copied().unwrap_or(undone))
    }

    /// Checks a line about a record that an earlier one has created and the dry run has undone.
    async fn change_undone(
        &mut self,
        (members, faults): (&[LineMember], Vec<Fault>),
        write: &mut Write<'_>,
    ) -> Result<Result<(Became, Option<i64>), Vec<Fault>>, Error> {
        self.is_of_undone = true;
        let resource = self.import.resource;
        let mut draft = Draft::read(resource, &Body::of_line(members), Intent::Update);
        draft.faults.extend(faults);
        draft.refuse_strangers(self.strangers, None);
        let after = draft.as_record();
        // Its own values are among those that are taken.
        let taken = write.taken.take();
        let checked = write.validate(&mut draft, &after).await;
        write.taken = taken;
        match checked {
            Ok(()) => Ok(Ok((Became::Updated, None))),
            Err(Error::Faults(faults)) => Ok(Err(faults)),
            Err(error) => Err(error),
        }
    }

    /// What can be known of a line that needs a record which the dry run has undone.
    fn judged(
        mut draft: Draft,
        became: Became,
        id: Option<i64>,
    ) -> Result<(Became, Option<i64>), Vec<Fault>> {
        let faults = draft.take_faults();
        if faults.is_empty() { Ok((became, id)) } else { Err(faults) }
    }

    /// What later lines of a dry run need of these outcomes.
    pub(super) async fn made(
        &self,
        outcomes: &[Outcome],
        write: &mut Write<'_>,
    ) -> Result<Made, Error> {
        let mut made = Made::default();
        let resource = self.import.resource;
        let written = || self.lines.iter().zip(outcomes).filter(|(_, of)| of.has_written());
        // By its key, a line that comes again finds its record, or is one too many: one of both is enough.
        let finds = self.import.mode != Mode::Create;
        for (line, _) in written().filter(|_| finds) {
            if let Some(key) = &line.key {
                made.line(&key.compared, line.content);
            }
        }
        let name = self.import.key.name(resource);
        let is_known = |unique: &&Unique| !(finds && unique.fields == [name]);
        let uniques: Vec<&Unique> = resource.unique.iter().filter(is_known).collect();
        let own = Naming::of(resource, write.call.shop.registry)
            .find(|naming| std::ptr::eq(naming.one.target, resource));
        if own.is_none() && uniques.is_empty() {
            return Ok(made);
        }
        let created = created(outcomes);
        let keys: Vec<i64> = written().filter_map(|(_, of)| of.id).collect();
        for (key, record) in write.records(resource, keys).await? {
            let owner = if created.contains(&key) { 0 } else { key };
            for unique in &uniques {
                made.unique(&record, unique, (resource, owner))?;
            }
            if let Some(Naming { by, .. }) = own {
                made.name(record.value(by.name)?.text(by.name)?, resource.is_folded(by));
            }
        }
        Ok(made)
    }

    async fn insert(
        &mut self,
        key: Option<Known>,
        (members, faults): (&[LineMember], Vec<Fault>),
        write: &mut Write<'_>,
    ) -> Result<Result<(Became, Option<i64>), Vec<Fault>>, Error> {
        let resource = self.import.resource;
        if self.service.create.is_some() {
            let Resource { singular, kind, .. } = resource;
            let detail = format!("There is no such {singular}; POST /{kind} creates one.");
            return Ok(Err(vec![Fault::new(FaultKind::Refused, detail)]));
        }
        let mut draft = Draft::read(resource, &Body::of_line(members), Intent::Create);
        draft.faults.extend(faults);
        draft.refuse_strangers(self.strangers, None);
        if let Some(PartOf { by, .. }) = resource.part_of {
            let name = by.field.name;
            let given = members.iter().find(|(member, _)| member == name);
            match given.map(|(_, literal)| literal::read(Kind::Key(""), false, literal)) {
                Some(Ok(owner)) => draft.set_value(by, owner)?,
                Some(Err(complaint)) => draft.refuse(by, format!("{name} {complaint}.")),
                None => {
                    draft.fault_at(FaultKind::MissingField, name, format!("{name} is required."));
                }
            }
            if !draft.faults.is_empty() {
                return Ok(Err(draft.take_faults()));
            }
        }
        if self.is_of_undone {
            return Ok(Self::judged(draft, Became::Created, None));
        }
        write.transaction.begin_part(self.alone).await?;
        let inserted = crud::insert(self.service, &mut draft, write).await;
        match settled(inserted, write).await? {
            Ok(id) => {
                self.forget(&draft, None)?;
                if let Some(key) = key {
                    self.found.insert(key.compared, id);
                }
                Ok(Ok((Became::Created, Some(id))))
            }
            Err(faults) => {
                self.may_be_there = self.import.mode == Mode::Upsert && self.is_taken(&faults);
                Ok(Err(faults))
            }
        }
    }

    async fn change(
        &mut self,
        id: i64,
        (mut members, mut faults): (Vec<LineMember>, Vec<Fault>),
        write: &mut Write<'_>,
    ) -> Result<Result<(Became, Option<i64>), Vec<Fault>>, Error> {
        let resource = self.import.resource;
        if self.parts.are_in(&members) && !self.parts.knows(id) {
            self.parts.read(vec![id], write).await?;
        }
        faults.extend(self.parts.take(id, &mut members));
        let before = match self.records.get(&id) {
            Some(before) => before.clone(),
            None => write.record(resource, id).await?,
        };
        let mut draft = Draft::read(resource, &Body::of_line(&members), Intent::Update);
        draft.faults.extend(faults);
        draft.refuse_strangers(self.strangers, Some(&before));
        if self.is_of_undone {
            return Ok(Self::judged(draft, Became::Updated, Some(id)));
        }
        if draft.leaves(&before) {
            return Ok(Ok((Became::Unchanged, Some(id))));
        }
        write.transaction.begin_part(self.alone).await?;
        let changed = crud::change(self.service, &mut draft, &before, write).await;
        match settled(changed, write).await? {
            Ok(()) => {
                self.forget(&draft, Some(&before))?;
                let changed = draft.changes().next().is_some();
                let became = if changed { Became::Updated } else { Became::Unchanged };
                Ok(Ok((became, Some(id))))
            }
            Err(faults) => Ok(Err(faults)),
        }
    }

    /// Whether another record has the key.
    fn is_taken(&self, faults: &[Fault]) -> bool {
        let at_key = Source::Pointer(format!("/{}", self.import.key.name(self.import.resource)));
        let mut faults = faults.iter();
        faults.any(|fault| {
            fault.kind == FaultKind::Duplicate && fault.source.as_ref() == Some(&at_key)
        })
    }

    /// Forgets the records that a line has changed, of which `before` is its own, so that a later line finds them as
    /// this one leaves them.
    fn forget(&mut self, written: &Draft, before: Option<&Record>) -> Result<(), Error> {
        if let Some(before) = before {
            self.records.remove(&before.key());
        }
        if !(self.service.spreads)(written, before)? {
            return Ok(());
        }
        self.has_spread = true;
        let Some(PartOf { by, .. }) = self.import.resource.part_of else {
            self.records.clear();
            return Ok(());
        };
        let whole = before.map_or_else(|| written.need(by), |before| before.need(by))?;
        self.records.retain(|_, part| part.need(by).ok() != Some(whole));
        Ok(())
    }
}

/// The keys of the records that lines have created.
pub(super) fn created(outcomes: &[Outcome]) -> HashSet<i64> {
    let created = outcomes.iter().filter(|of| of.result == Became::Created);
    created.filter_map(|of| of.id).collect()
}

/// The result of a write, whose faults are undone alone.
async fn settled<T>(
    result: Result<T, Error>,
    write: &mut Write<'_>,
) -> Result<Result<T, Vec<Fault>>, Error> {
    match result {
        Ok(done) => {
            write.transaction.end_part().await?;
            Ok(Ok(done))
        }
        Err(Error::Faults(faults)) => {
            write.transaction.undo_part().await?;
            Ok(Err(faults))
        }
        Err(error) => Err(error),
    }
}

/// Notes the versions of the records that lines have written.
pub(super) async fn add_versions(
    outcomes: &mut [Outcome],
    resource: &'static Resource,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let mut keys: Vec<i64> = outcomes.iter().filter_map(|outcome| outcome.id).collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() || !resource.versioned {
        return Ok(());
    }
    let versions = write.transaction.versions(resource, keys).await?;
    for outcome in outcomes {
        outcome.version = outcome.id.and_then(|id| versions.get(&id).copied().flatten());
    }
    Ok(())
}

fn missing(resource: &Resource, name: &str, key: &str, hint: &str) -> Fault {
    let detail = format!("There is no {} with the {name} {key}.{hint}", resource.singular);
    Fault::at_pointer(FaultKind::NotFound, format!("/{name}"), detail)
}

/// A line with the keys of related records in place of their names.
fn prepared(line: &Line, import: &Import, names: &Names, undone: &Undone) -> Prepared {
    let content = if import.dry_run { content_of(line) } else { 0 };
    let given = match line.members.as_ref() {
        Ok(given) => renamed(given, import.resource),
        Err(fault) => Err(fault.clone()),
    };
    let given = match given {
        Ok(given) => given,
        Err(fault) => return Prepared { faults: vec![fault], content, ..Prepared::default() },
    };
    let Resolved { members, faults, awaits_own, names_own, needs_undone } =
        names.resolve(given, undone);
    let key = Known::of(&members, import);
    Prepared { members, faults, awaits_own, names_own, needs_undone, content, key }
}
