//! PDUs, RFC 7143 section 11: a basic header of 48 bytes, additional header segments, data; digests
//! after headers and data if they were negotiated. Each type of PDU has a file. Decoders read the
//! 48 bytes from the first one on, encoders write them. [`Head`] has the common part of all PDUs
//! (the lengths).

mod additional;
mod async_message;
mod data_in;
mod data_out;
mod head;
mod login;
mod logout;
mod nop;
mod numbers;
mod r2t;
mod reject;
mod scsi_command;
mod scsi_response;
mod snack;
mod task_management;
mod text;

pub use additional::{Additional, MAX_CDB};
pub use async_message::{AsyncEvent, AsyncMessage};
pub use data_in::DataIn;
pub use data_out::DataOut;
pub use head::{BHS, Head, Lun, NO_TAG, Opcode, RequestFields, padding};
pub use login::{LoginRequest, LoginResponse, LoginStatus, Stage, VERSION};
pub use logout::{LogoutReason, LogoutRequest, LogoutResponse, LogoutResult};
pub use nop::{NopIn, NopOut};
pub use numbers::SequenceNumbers;
pub use r2t::R2t;
pub use reject::{Reject, RejectReason};
pub use scsi_command::{Attribute, ScsiCommand};
pub use scsi_response::{Residual, ScsiResponse};
pub use snack::Snack;
pub use task_management::{Function, FunctionResult, TaskRequest, TaskResponse};
pub use text::{TextRequest, TextResponse};
