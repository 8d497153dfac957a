//! The JSON Schemas of the reports that programs read, made from the types that are written.

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{RecursiveTransform, Transform},
};
use serde_json::json;

use super::{doctor, pins, plan, releases, repositories, service, status, verify};

/// A report with a versioned form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// `uplinker.pins/v1`.
    Pins,
    /// `uplinker.plan/v1`.
    Plan,
    /// `uplinker.run/v1`.
    Run,
    /// `uplinker.verify/v1`.
    Verify,
    /// `uplinker.releases/v1`.
    Releases,
    /// `uplinker.status/v1`.
    Status,
    /// `uplinker.doctor/v1`.
    Doctor,
    /// `uplinker.repositories/v1`.
    Repositories,
    /// `uplinker.service/v1`.
    Service,
    /// `uplinker.service-repository/v1`.
    ServiceRepository,
    /// `uplinker.service-events/v1`.
    ServiceEvents,
}

/// Returns the JSON Schema of a report as text that ends with a line break.
pub fn schema(document: Document) -> String {
    let (name, mut schema) = match document {
        Document::Pins => ("uplinker.pins/v1", of::<pins::Document<'_>>()),
        Document::Plan => ("uplinker.plan/v1", of::<plan::Document<'_>>()),
        Document::Run => ("uplinker.run/v1", of::<plan::Document<'_>>()),
        Document::Verify => ("uplinker.verify/v1", of::<verify::Document<'_>>()),
        Document::Releases => ("uplinker.releases/v1", of::<releases::Document<'_>>()),
        Document::Status => ("uplinker.status/v1", of::<status::Document<'_>>()),
        Document::Doctor => ("uplinker.doctor/v1", of::<doctor::Document<'_>>()),
        Document::Repositories => ("uplinker.repositories/v1", of::<repositories::Document<'_>>()),
        Document::Service => ("uplinker.service/v1", of::<service::Service<'_>>()),
        Document::ServiceRepository => {
            ("uplinker.service-repository/v1", of::<service::ServiceRepository<'_>>())
        }
        Document::ServiceEvents => ("uplinker.service-events/v1", of::<service::ServiceEvents<'_>>()),
    };
    schema.insert("title".to_owned(), json!(name));
    schema.remove("description");
    if let Some(own) = schema.pointer_mut("/properties/schema") {
        *own = json!({"const": name, "description": "The name and the version of this form."});
    }
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text + "\n"
}

fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(closed).transform(&mut schema);
    schema
}

/// A form of one version has these fields and no others.
fn closed(schema: &mut Schema) {
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}
