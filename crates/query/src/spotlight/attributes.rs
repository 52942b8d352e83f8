//! Spotlight's attributes, and what they are here.

use crate::{Attribute, Comparison, FileKind, Pattern, Query, TextTest};

/// What an attribute of Spotlight is here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A value of any of these.
    Attributes(&'static [Attribute]),
    /// Finder's groups of kinds, which have numbers.
    Group,
    /// Files of this server have no such value.
    Nothing,
}

use Attribute::*;

/// Each attribute of Spotlight that has a meaning here.
const MEANINGS: &[(&str, &[Attribute])] = &[
    ("*", &[Any]),
    ("**", &[Any]),
    ("_kMDItemFileName", &[Name]),
    ("_kMDItemUserTags", &[Tag]),
    ("kMDItemAcquisitionMake", &[Device]),
    ("kMDItemAcquisitionModel", &[Device]),
    ("kMDItemAlbum", &[Album]),
    ("kMDItemAlternateNames", &[Name]),
    ("kMDItemArtist", &[Author]),
    ("kMDItemAttributeChangeDate", &[Modified]),
    ("kMDItemAuthorAddresses", &[Author]),
    ("kMDItemAuthorEmailAddresses", &[Author]),
    ("kMDItemAuthors", &[Author]),
    ("kMDItemComment", &[Comment]),
    ("kMDItemComposer", &[Composer]),
    ("kMDItemContentCreationDate", &[Taken, Created]),
    ("kMDItemContentModificationDate", &[Modified]),
    ("kMDItemContentType", &[ContentType]),
    ("kMDItemContentTypeTree", &[ContentType]),
    ("kMDItemContributors", &[Author]),
    ("kMDItemCreator", &[Device]),
    ("kMDItemDateAdded", &[Added]),
    ("kMDItemDescription", &[Comment, Text]),
    ("kMDItemDisplayName", &[Name]),
    ("kMDItemDurationSeconds", &[Duration]),
    ("kMDItemEncodingApplications", &[Device]),
    ("kMDItemFSContentChangeDate", &[Modified]),
    ("kMDItemFSCreationDate", &[Created]),
    ("kMDItemFSCreatorCode", &[CreatorCode]),
    ("kMDItemFSLabel", &[Label]),
    ("kMDItemFSName", &[Name]),
    ("kMDItemFSSize", &[Size]),
    ("kMDItemFSTypeCode", &[TypeCode]),
    ("kMDItemFinderComment", &[Comment]),
    ("kMDItemHeadline", &[Title]),
    ("kMDItemKeywords", &[Keyword]),
    ("kMDItemKind", &[Kind]),
    ("kMDItemLastUsedDate", &[Used]),
    ("kMDItemLogicalSize", &[Size]),
    ("kMDItemMusicalGenre", &[Genre]),
    ("kMDItemNumberOfPages", &[Pages]),
    ("kMDItemPerformers", &[Author]),
    ("kMDItemPhysicalSize", &[Size]),
    ("kMDItemPixelHeight", &[Height]),
    ("kMDItemPixelWidth", &[Width]),
    ("kMDItemRecipientAddresses", &[Recipient]),
    ("kMDItemRecipientEmailAddresses", &[Recipient]),
    ("kMDItemRecipients", &[Recipient]),
    ("kMDItemSubject", &[Title]),
    ("kMDItemTextContent", &[Text]),
    ("kMDItemTitle", &[Title]),
    ("kMDItemUserTags", &[Tag]),
    ("kMDItemWhereFroms", &[Origin]),
];

/// Finder's groups: the numbers of `_kMDItemGroupId` in captures.
const GROUPS: &[(&str, &[FileKind])] = &[
    ("1", &[FileKind::Email]),
    ("7", &[FileKind::Video]),
    ("8", &[FileKind::Application]),
    ("9", &[FileKind::Folder]),
    ("10", &[FileKind::Audio]),
    ("11", &[FileKind::Pdf]),
    ("12", &[FileKind::Presentation]),
    ("13", &[FileKind::Image]),
];

impl Meaning {
    /// The meaning of an attribute of this name.
    pub(super) fn of(name: &str) -> Self {
        if name == "_kMDItemGroupId" {
            return Self::Group;
        }
        let found = MEANINGS.iter().find(|(known, _)| *known == name);
        found.map_or(Self::Nothing, |(_, attributes)| Self::Attributes(attributes))
    }
}

/// The comparisons of which one holds for each file of a group.
pub(super) fn kinds_of_group(number: &str) -> Vec<Query> {
    let kinds = GROUPS.iter().find(|(known, _)| *known == number).map_or(&[][..], |(_, kinds)| kinds);
    let is_kind =
        |kind: &FileKind| Comparison::text(Attribute::Kind, TextTest::whole(Pattern::literal(kind.name())));
    kinds.iter().map(is_kind).collect()
}

/// The four characters of a Mac type or creator that is given as a number.
pub(super) fn code(attribute: Attribute, number: &str) -> Option<String> {
    if !matches!(attribute, Attribute::TypeCode | Attribute::CreatorCode) {
        return None;
    }
    let code = number.parse::<u32>().ok()?.to_be_bytes();
    Some(code.iter().map(|byte| char::from(*byte)).collect())
}
